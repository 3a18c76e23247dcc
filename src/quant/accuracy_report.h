#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "quant/convert.h"
#include "quant/weight_choice.h"
#include "support/thread_pool.h"

namespace lathe {

/// What quantization does to one product, over the samples of its input.
struct ProductAccuracy {
  std::string module;
  WeightFormat format;
  /// Signal to noise of x W^T with inputs and weights as they are stored, and with the weights in
  /// i8 per channel.
  double sqnr_db = 0.0;
  double sqnr_db_8_bits = 0.0;
  /// The largest magnitude in a channel of the input, over the median of all channels: what one
  /// channel takes from the resolution of the others, and how far an error of its weights reaches.
  double outlier = 1.0;
};

/// From these on, a product stands out. The inputs of most products have outliers of 2 to 30, those
/// of the down projections that Llama 3.2's recipe keeps at 8 bits have hundreds.
inline constexpr double kOutlier = 100.0;
inline constexpr double kNoisyBelow = 12.0;  ///< dB; 4 bits per channel usually give 15 to 20

bool stands_out(const ProductAccuracy& product);

/// The products of `graph` whose inputs were sampled (plan.samples), in execution order; a
/// head_rotation is none. `graph`: annotated, with float weights. The result does not depend on the
/// number of threads.
std::vector<ProductAccuracy> product_accuracies(const Graph& graph,
                                                std::span<const WeightChoice> choices,
                                                const WeightPlan& plan, ThreadPool& pool);

/// For a terminal: the products that stand out, the worst first, and the rules that would give
/// those of 4 bits 8.
std::string describe(std::span<const ProductAccuracy> products);

}  // namespace lathe
