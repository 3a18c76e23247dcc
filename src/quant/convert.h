#pragma once

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "quant/annotate.h"
#include "quant/calibrate.h"
#include "quant/quantized_constants.h"
#include "quant/recipe.h"
#include "support/thread_pool.h"

namespace lathe {

/// Throws Error with the first difference where two roles of one model differ in more than their
/// shapes: the same ids must be the same operators of the same modules on the same inputs.
void require_same_structure(const Graph& a, const Graph& b);

/// Encodings by value id: every member of a group has its group's.
using EncodingTable = std::vector<std::optional<Encoding>>;

/// Encodings of all groups of an annotated graph, from observed ranges and from the graph's
/// constants. A range is looked up by value id; that of a requantize node is its input's, so
/// calibration may have run before annotation. Throws Error naming a value without a range.
EncodingTable make_encodings(const Graph& graph, const Annotation& annotation,
                             const RangeTable& ranges, const Recipe& recipe, ThreadPool& pool);

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
  QuantizedConstant get(const Constant& source, DType form, const Key& key, const Make& make) {
    std::string name = fmt::format("{}.{}", source.name, name_of(form));
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

/// The integer graph of an annotated float graph: every value typed and encoded, weights as packed
/// i8, biases as i32, other constants as codes of their group. Throws Error where the result would
/// not pass verify(graph, integer).
Graph convert(const Graph& graph, const EncodingTable& encodings, WeightCache& cache,
              ThreadPool& pool);

}  // namespace lathe
