#pragma once

#include <memory>
#include <vector>

#include "executors/session.h"

namespace lathe {

/// Several sessions as one, run one after another. An output that a later one takes as an input of
/// the same name stays inside, in memory that both are bound to. `io` says what is seen from
/// outside: each of its inputs goes to every part that has it, each of its outputs comes from the
/// one part that has it. Throws Error where names, types, shapes or encodings do not fit together.
std::unique_ptr<Session> chain_sessions(std::vector<std::unique_ptr<Session>> parts, IoContract io);

}  // namespace lathe
