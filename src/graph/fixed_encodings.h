#pragma once

#include "graph/encoding.h"

namespace lathe {

/// Code 65535 attends (0.0), code 0 is masked (-255.0).
inline Encoding attention_mask_encoding() { return {DType::u16, {255.0f / 65535.0f}, 65535, -1}; }

/// The real value of a masked position, in float graphs too: their ranges become encodings.
inline float attention_mask_low() { return -255.0f; }

/// How far below the smallest score of its row a masked softmax puts a masked one.
inline double masked_score_below() { return 20.0; }

/// Outputs of softmax and sigmoid.
inline Encoding unit_encoding() { return {DType::u16, {1.0f / 65536.0f}, 0, -1}; }

}  // namespace lathe
