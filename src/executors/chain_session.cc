#include "executors/chain_session.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "graph/constant.h"
#include "support/error.h"

namespace lathe {
namespace {

class ChainSession final : public Session {
 public:
  ChainSession(std::vector<std::unique_ptr<Session>> parts, IoContract io)
      : parts_(std::move(parts)), io_(std::move(io)) {
    for (size_t i = 0; i < parts_.size(); ++i) {
      for (const IoTensor& input : parts_[i]->io().inputs) connect(input, i);
    }
    for (const IoTensor& input : io_.inputs) check_outside(input, &IoContract::find_input);
    for (const IoTensor& output : io_.outputs) check_outside(output, &IoContract::find_output);
  }

  const IoContract& io() const override { return io_; }

  bool wants_dense_inputs() const override {
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const auto& part) { return part->wants_dense_inputs(); });
  }

  void bind(std::string_view name, const TensorView& view) override {
    if (io_.find_input(name) == nullptr && io_.find_output(name) == nullptr) {
      fail({.what = "no such input or output", .found = printable(name, 40)});
    }
    for (const auto& part : parts_) {
      const IoContract& io = part->io();
      if (io.find_input(name) != nullptr || io.find_output(name) != nullptr) part->bind(name, view);
    }
  }

  void run() override {
    for (const auto& part : parts_) part->run();
  }

 private:
  /// Gives an input of a part what an earlier part writes there, or leaves it to the outside.
  void connect(const IoTensor& input, size_t part) {
    for (size_t from = 0; from < part; ++from) {
      const IoTensor* output = parts_[from]->io().find_output(input.name);
      if (output == nullptr) continue;
      check_alike(*output, input);
      parts_[part]->bind(input.name, memory_of(*output, from));
      return;
    }
    if (io_.find_input(input.name) != nullptr) return;
    fail({.what = "a part of the model takes what no part before it gives",
          .where = printable(input.name, 40),
          .advice = "export the model again"});
  }

  /// Memory for an output that stays inside, bound when it is first asked for.
  TensorView memory_of(const IoTensor& output, size_t part) {
    const auto [crossing, is_new] = crossing_.try_emplace(output.name);
    if (is_new) {
      crossing->second = aligned_bytes(byte_size(output.dtype, output.shape));
    }
    const TensorView view = dense_view(output.dtype, output.shape, crossing->second.get());
    if (is_new) parts_[part]->bind(output.name, view);
    return view;
  }

  void check_outside(const IoTensor& tensor,
                     const IoTensor* (IoContract::*find)(std::string_view) const) const {
    bool found = false;
    for (const auto& part : parts_) {
      const IoTensor* own = (part->io().*find)(tensor.name);
      if (own == nullptr) continue;
      check_alike(*own, tensor);
      found = true;
    }
    if (found) return;
    fail({.what = "no part of the model has this input or output",
          .where = printable(tensor.name, 40),
          .advice = "export the model again"});
  }

  static void check_alike(const IoTensor& a, const IoTensor& b) {
    if (a.dtype == b.dtype && a.shape == b.shape && a.encoding == b.encoding) return;
    fail({.what = "parts of the model do not fit together",
          .where = printable(a.name, 40),
          .expected = std::string(name_of(b.dtype)) + to_string(b.shape),
          .found = std::string(name_of(a.dtype)) + to_string(a.shape),
          .advice = "export the model again"});
  }

  std::vector<std::unique_ptr<Session>> parts_;
  IoContract io_;
  std::map<std::string, std::shared_ptr<std::byte>> crossing_;  // by the name of the output
};

}  // namespace

std::unique_ptr<Session> chain_sessions(std::vector<std::unique_ptr<Session>> parts,
                                        IoContract io) {
  return std::make_unique<ChainSession>(std::move(parts), std::move(io));
}

}  // namespace lathe
