#pragma once

#include "checkpoint/gguf.h"
#include "checkpoint/vocabulary.h"

namespace lathe {

/// The tokens of a GGUF file, all of them normal where it does not give their types. Throws Error
/// for a missing or empty vocabulary, types that do not match it in number or value, and a text
/// given twice.
Vocabulary read_vocabulary(const Gguf& gguf);

}  // namespace lathe
