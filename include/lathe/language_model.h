#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decode/generate.h"
#include "text/encode_chat.h"

namespace lathe {

enum class ExecutorKind : uint8_t {
  cpu,        ///< planned, vectorised, several threads
  reference,  ///< scalar and exact: the yardstick
  ort,        ///< ONNX Runtime's CPU provider
  htp         ///< a Hexagon tensor processor, or on x86-64 its simulator
};

/// "cpu", "reference", "ort", "htp"
std::string_view name_of(ExecutorKind executor);

struct OpenOptions {
  ExecutorKind executor = ExecutorKind::cpu;
  RunMode mode = RunMode::hybrid;
  int threads = 0;  ///< 0: one for each physical core
  /// Executor htp: the chip that there is, as in `lathe export`; an export for another is refused.
  /// Empty: the one that the export was compiled for.
  std::string soc = {};
};

/// Throws lathe::Error for a chip with another executor than htp.
void require_consistent(const OpenOptions& options);

/// A compiled model, open and ready to write.
///
///   auto model = lathe::LanguageModel::open("model.lathe");
///   auto prompt = model->encode_chat({{"user", "What is the capital of France?"}});
///   auto result = model->generate(prompt, {}, {}, [](std::string_view text) { std::cout << text;
///   });
class LanguageModel {
 public:
  /// `artifact` is model.lathe, or the folder of an export, which needs the executor that it was
  /// made for; an artifact is exported to a temporary folder for executor `ort`. Throws
  /// lathe::Error. Returns once the graphs can run; the tokenizer is opened in the background, and
  /// what is wrong with it is thrown by the first call that needs it.
  static std::unique_ptr<LanguageModel> open(const std::filesystem::path& artifact,
                                             const OpenOptions& options = {});
  ~LanguageModel();

  /// Ids of a raw prompt, with what the tokenizer adds by itself.
  std::vector<int64_t> encode(std::string_view text) const;
  /// Ids of a conversation by the model's chat template. What a user typed never becomes a control
  /// token.
  std::vector<int64_t> encode_chat(const std::vector<ChatMessage>& messages,
                                   const ChatOptions& options = {}) const;
  const std::shared_ptr<const Tokenizer>& tokenizer() const;

  int64_t context() const;
  int64_t vocab() const;

  /// Writes after `prompt`, which stands alone: what it has in common with the text so far is not
  /// run again. End-of-sequence ids of the model are added to `options`. Throws lathe::Error before
  /// anything is run.
  GenerateResult generate(std::span<const int64_t> prompt, const SamplerOptions& sampling,
                          GenerateOptions options,
                          const std::function<void(std::string_view)>& on_text = {});

  /// Logits after each of `ids`, a sequence of its own, in order: rows of [vocab()].
  void logits(std::span<const int64_t> ids, const Runner::TakeRow& take);

  /// The runner, for measurements.
  Runner& runner();

 private:
  struct Impl;
  explicit LanguageModel(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lathe
