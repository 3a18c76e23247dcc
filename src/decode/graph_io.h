#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
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

/// How a graph is given its cache and returns it (docs/architecture.md).
enum class CacheStyle : uint8_t {
  pairs,  ///< the past goes in with a mask, the new pairs come out
  whole   ///< whole caches go in and come out, and the graph masks by position
};

/// Ids or positions of the tokens of a call.
struct TokenInput {
  std::string name;
  DType dtype = DType::i32;  ///< or i64
  Shape shape;               ///< AR elements

  bool operator==(const TokenInput&) const = default;
};

/// An IO contract, checked, in the terms that the runner works with.
struct GraphIo {
  int64_t tokens_per_call = 0;  ///< AR
  int64_t context = 0;          ///< CL
  int64_t window = 0;           ///< W of sliding layers, less than CL; 0: there are none
  int64_t vocab = 0;
  CacheStyle cache_style = CacheStyle::pairs;
  TokenInput ids;
  TokenInput positions;  ///< of the type of the ids
  // Style `pairs`:
  std::optional<ValueFormat> mask;         ///< nothing where all layers slide
  std::optional<ValueFormat> window_mask;  ///< where there is a window
  ValueFormat logits;
  std::vector<LayerFormat> layers;
  /// Style `pairs`: slots of each layer's cache input, CL - AR, or in a sliding layer
  /// window_slots().
  std::vector<int64_t> slots;
  bool has_cache_inputs = true;  ///< style `pairs`: a graph with AR = CL may come without

  int64_t cache_slots() const { return context - tokens_per_call; }
  int64_t window_slots() const { return ring_slots(window, context, tokens_per_call); }
};

/// "static_cache.layers.0" and "layers.0": what the names of a layer's whole caches begin with.
std::string whole_cache_input(size_t layer);
std::string whole_cache_output(size_t layer);

/// Reads a contract of either style. Throws Error, naming graph and tensor, for one that the runner
/// cannot serve: a tensor missing, unknown, of the wrong type or shape, an unusable encoding, or a
/// cache whose encoding differs from that of the output that feeds it.
GraphIo read_graph_io(const IoContract& contract);

/// Throws Error unless the two graphs may share one cache and one sampler.
void check_same_model(const GraphIo& decode, const GraphIo& prefill);

}  // namespace lathe
