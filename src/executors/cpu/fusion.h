#pragma once

#include "executors/cpu/plan.h"

namespace lathe {

/// Makes one step of two where one goes on with what the other gives, so that what is between them
/// stays in the cache of one processor and the team meets less often. No code changes.
///
///   rms_norm -> linear             where nothing else reads the norm: rows are normalised where
///                                  they are prepared for the product
///   linear -> add, silu_mul, ...   every step that goes on with results of the product element by
///                                  element: a thread does so for the channels that it has
///                                  computed, and has those of gate and up alike
///   rms_norm -> rope, add          the same with the rows of a norm: the heads of a token
///
/// The two need not follow each other where nothing in between has to do with the second.
/// Before lives and places of buffers are known.
void fuse_steps(Plan& plan, int threads);

}  // namespace lathe
