#include "executors/ort/loaded_model.h"

#include "executors/ort/library.h"
#include "executors/ort/rejected_operators.h"
#include "support/error.h"

namespace lathe {
namespace {

std::vector<LatheOrtEntry> borrow_all(const std::vector<OrtSettings::Entry>& entries) {
  std::vector<LatheOrtEntry> borrowed;
  borrowed.reserve(entries.size());
  for (const auto& [key, value] : entries) borrowed.push_back({borrow(key), borrow(value)});
  return borrowed;
}

OrtTensor tensor_of(const LatheOrtTensor& tensor) {
  return {std::string(tensor.name.data, tensor.name.size), tensor.element_type,
          Shape(tensor.dims, tensor.dims + tensor.rank)};
}

/// `message`: a line of ONNX Runtime, then lines of its log.
[[noreturn]] void fail_with(const std::string& message, const std::string& where) {
  const std::vector<RejectedOperator> rejected = rejected_operators(message);
  if (rejected.empty()) {
    fail({.what = printable(message.substr(0, message.find('\n')), 400), .where = where});
  }
  std::string what = "rejected operator " + printable(rejected.front().name) + " (" +
                     printable(rejected.front().type) + ")";
  if (rejected.size() > 1) what += " and " + std::to_string(rejected.size() - 1) + " more";
  fail({.what = what, .where = where});
}

}  // namespace

LoadedModel::LoadedModel(const std::filesystem::path& file, const OrtSettings& settings)
    : where_(printable(file.string())) {
  const std::vector<LatheOrtEntry> config = borrow_all(settings.config);
  const std::vector<LatheOrtEntry> provider_options = borrow_all(settings.provider_options);
  constexpr int kAllOptimizations = 3;
  constexpr int kErrors = 3;
  const LatheOrtOptions options = {.config = config.data(),
                                   .config_count = config.size(),
                                   .provider = borrow(settings.provider),
                                   .provider_options = provider_options.data(),
                                   .provider_option_count = provider_options.size(),
                                   .threads = settings.threads,
                                   .optimization = kAllOptimizations,
                                   .log_severity = kErrors};
  LatheOrtSession* session = nullptr;
  LatheOwnedText error;
  if (!lathe_ort_session_open(OrtLibrary::open().runtime(), borrow(file.string()), &options,
                              &session, &error)) {
    fail_with(take(error), where_);
  }
  session_.reset(session);
  for (size_t i = 0; i < lathe_ort_session_input_count(session); ++i) {
    inputs_.push_back(tensor_of(lathe_ort_session_input(session, i)));
  }
  for (size_t i = 0; i < lathe_ort_session_output_count(session); ++i) {
    outputs_.push_back(tensor_of(lathe_ort_session_output(session, i)));
  }
}

void LoadedModel::bind_input(size_t index, const TensorView& view) {
  bind(lathe_ort_session_bind_input, index, view);
}

void LoadedModel::bind_output(size_t index, const TensorView& view) {
  bind(lathe_ort_session_bind_output, index, view);
}

void LoadedModel::bind(decltype(&lathe_ort_session_bind_input) bind_to, size_t index,
                       const TensorView& view) {
  bool bound = false;
  LatheOwnedText error;
  const auto bytes = static_cast<size_t>(byte_size(view.dtype, view.shape));
  if (!bind_to(session_.get(), index, view.data, bytes, &bound, &error)) {
    fail_with(take(error), where_);
  }
}

void LoadedModel::run() {
  bool ran = false;
  LatheOwnedText error;
  if (!lathe_ort_session_run(session_.get(), &ran, &error)) fail_with(take(error), where_);
}

}  // namespace lathe
