#pragma once

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "quant/calibrate.h"
#include "quant/product_samples.h"
#include "quant/quantized_constants.h"
#include "quant/weight_format.h"
#include "support/thread_pool.h"

namespace lathe {

/// Throws Error with the first difference where two roles of one model differ in more than their
/// shapes: the same ids must be the same operators of the same modules on the same inputs.
void require_same_structure(const Graph& a, const Graph& b);

/// Encodings by value id: every member of a group has its group's.
using EncodingTable = std::vector<std::optional<Encoding>>;

/// Encodings of all values of an annotated graph (Value::spec), from observed ranges and from the
/// graph's constants. A range is looked up by value id; that of a requantize node is that of
/// its input's group, so calibration may have run before annotation. Throws Error naming a value
/// without a range.
EncodingTable make_encodings(const Graph& graph, const RangeTable& ranges, int headroom,
                             ThreadPool& pool);

/// Quantized constants of a model, so that its roles share their bytes. A constant is named after
/// its source and its form: "model.embed_tokens.weight.u16" and "model.embed_tokens.weight.i8" for
/// an embedding that is tied to the output layer; a second one of the same form but with other
/// scales (a bias read by two products) gets ".2".
class WeightCache {
 public:
  /// What else than source and form makes codes: scales and zero points.
  using Key = std::vector<double>;

  /// The constant that make(name) gave for the same source, form and key; calls it where there is
  /// none yet.
  template <typename Make>
  QuantizedConstant get(const Constant& source, std::string_view form, const Key& key,
                        const Make& make) {
    std::string name = fmt::format("{}.{}", source.name, form);
    std::vector<Entry>& entries = entries_[name];
    for (const Entry& entry : entries) {
      if (entry.key == key) return entry.quantized;
    }
    if (!entries.empty()) name += fmt::format(".{}", entries.size() + 1);
    entries.push_back({key, make(std::move(name))});
    return entries.back().quantized;
  }

 private:
  struct Entry {
    Key key;
    QuantizedConstant quantized;
  };
  std::map<std::string, std::vector<Entry>> entries_;
};

/// How the weights of a model's products are stored.
struct WeightPlan {
  std::map<NodeId, WeightFormat> formats;
  int search_steps = 0;  ///< of the search for scales (search_clips); 0: the largest magnitude
  const ProductSamples* samples = nullptr;  ///< to search with; not null where there is a search
};

/// An annotated float graph with everything quantized, in the form that other tools know as QDQ:
/// float operators between dequantize and quantize nodes, weights and other constants as codes
/// behind a dequantize, float inputs and outputs. The passes of Pipeline::lower make the integer
/// graph of it. Ids are alike in all roles.
Graph insert_qdq(const Graph& graph, const EncodingTable& encodings, const WeightPlan& weights,
                 WeightCache& cache, ThreadPool& pool);

}  // namespace lathe
