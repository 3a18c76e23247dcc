#pragma once

#include <cstdint>
#include <vector>

#include "graph/io_contract.h"
#include "support/tensor.h"

namespace lathe {

/// How the values of one tensor are stored: real = (code - zero_point) * scale for u8 and u16; f32
/// holds the real value itself.
struct ValueFormat {
  DType dtype = DType::f32;
  float scale = 1.0f;
  int32_t zero_point = 0;

  bool operator==(const ValueFormat&) const = default;
};

/// The keys or the values of one layer.
struct CacheFormat {
  int64_t heads = 0;
  int64_t head_dim = 0;
  ValueFormat format;

  bool operator==(const CacheFormat&) const = default;
};

struct LayerFormat {
  CacheFormat key;
  CacheFormat value;

  bool operator==(const LayerFormat&) const = default;
};

/// An IO contract, checked, in the terms that the runner works with.
struct GraphIo {
  int64_t tokens_per_call = 0;  ///< AR
  int64_t context = 0;          ///< CL
  int64_t vocab = 0;
  ValueFormat mask;
  ValueFormat logits;
  std::vector<LayerFormat> layers;
  bool has_cache_inputs = true;  ///< a graph with AR = CL may come without

  int64_t cache_slots() const { return context - tokens_per_call; }
};

/// Reads a contract. Throws Error, naming graph and tensor, for one that the runner cannot serve: a
/// tensor missing, unknown, of the wrong type or shape, an unusable encoding, or a cache whose
/// encoding differs from that of its new pairs.
GraphIo read_graph_io(const IoContract& contract);

/// Throws Error unless the two graphs may share one cache and one sampler.
void check_same_model(const GraphIo& decode, const GraphIo& prefill);

}  // namespace lathe
