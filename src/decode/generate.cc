#include "decode/generate.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "decode/stop_strings.h"
#include "support/error.h"

namespace lathe {
namespace {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

double rate(int64_t count, double seconds) {
  return count > 0 && seconds > 0.0 ? static_cast<double>(count) / seconds : 0.0;
}

/// Ids in, text out: to the result and to the caller.
class TextOutput {
 public:
  TextOutput(TextStream stream, const std::vector<std::string>& stops,
             const std::function<void(std::string_view)>& on_text)
      : stream_(std::move(stream)), stops_(stops), on_text_(on_text) {}

  /// False once a stop string is complete.
  bool push(int64_t id) {
    emit(stops_.push(stream_.push(id)));
    return !stops_.found();
  }

  /// Gives out what was held back, and returns the whole text. A stop string may still be completed
  /// by it.
  bool finish() {
    emit(stops_.push(stream_.finish()));
    emit(stops_.finish());
    return !stops_.found();
  }

  std::string take() { return std::move(text_); }

 private:
  void emit(const std::string& text) {
    if (text.empty()) return;
    text_ += text;
    if (on_text_) on_text_(text);
  }

  TextStream stream_;
  StopStrings stops_;
  const std::function<void(std::string_view)>& on_text_;
  std::string text_;
};

}  // namespace

std::string_view name_of(FinishReason reason) {
  return reason == FinishReason::stop ? "stop" : "length";
}

double GenerateStats::prompt_tokens_per_second() const {
  return rate(prompt_tokens, prefill_seconds);
}

double GenerateStats::tokens_per_second() const {
  return rate(generated_tokens - 1, decode_seconds);
}

GenerateResult generate(Runner& runner, Sampler& sampler, TextStream stream,
                        std::span<const int64_t> prompt, const GenerateOptions& options,
                        const std::function<void(std::string_view)>& on_text) {
  if (options.max_new_tokens < 0) {
    fail({.what = "number of tokens to generate is negative",
          .found = std::to_string(options.max_new_tokens)});
  }
  TextOutput output(std::move(stream), options.stop, on_text);

  GenerateResult result;
  const Stopwatch whole;
  LogitsRow logits = runner.prefill(prompt);
  result.stats.prompt_tokens = static_cast<int64_t>(prompt.size());
  result.stats.prefill_seconds = whole.seconds();
  sampler.see_only(runner.history());

  const int64_t limit = std::min(options.max_new_tokens, runner.remaining());
  bool going = limit > 0;
  while (going) {
    const int64_t id = sampler.sample(logits);
    sampler.see(id);
    result.ids.push_back(id);
    if (result.ids.size() == 1) result.stats.time_to_first_token = whole.seconds();

    const auto& eos = options.eos_ids;
    if (std::find(eos.begin(), eos.end(), id) != eos.end() || !output.push(id)) {
      result.finish_reason = FinishReason::stop;
      going = false;
    } else if (static_cast<int64_t>(result.ids.size()) == limit) {
      going = false;
    } else {
      logits = runner.step(id);
    }
  }
  if (!result.ids.empty()) {
    result.stats.decode_seconds = whole.seconds() - result.stats.time_to_first_token;
  }
  if (!output.finish()) result.finish_reason = FinishReason::stop;
  result.stats.generated_tokens = static_cast<int64_t>(result.ids.size());
  result.text = output.take();
  return result;
}

}  // namespace lathe
