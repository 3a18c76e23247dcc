#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decode/runner.h"
#include "decode/sampler.h"
#include "text/tokenizer.h"

namespace lathe {

struct GenerateOptions {
  /// At most this many; never more than the context has room for.
  int64_t max_new_tokens = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> eos_ids = {};
  std::vector<std::string> stop = {};
};

enum class FinishReason : uint8_t {
  stop,   ///< an end-of-sequence id or a stop string
  length  ///< max_new_tokens, or the context is full
};
std::string_view name_of(FinishReason reason);

/// Seconds are by the wall clock.
struct GenerateStats {
  int64_t prompt_tokens = 0;
  int64_t generated_tokens = 0;
  double prefill_seconds = 0.0;      ///< running the prompt
  double decode_seconds = 0.0;       ///< from the first token to the last
  double time_to_first_token = 0.0;  ///< seconds from the call to the first token

  double prompt_tokens_per_second() const;
  /// Of the tokens after the first, which the prompt's run has paid for. 0 where there are none.
  double tokens_per_second() const;
};

struct GenerateResult {
  std::vector<int64_t> ids;  ///< all that were generated, an end-of-sequence id included
  std::string text;  ///< without end-of-sequence and other control tokens, cut before a stop string
  FinishReason finish_reason = FinishReason::length;
  GenerateStats stats;
};

/// Runs `prompt` after what the runner holds, then generates. `on_text` (may be empty) gets the
/// text in pieces as soon as each is certain; together they are the result's text. The runner holds
/// all but the last generated id afterwards. Throws Error for a prompt that Runner::prefill refuses
/// or a wrong option, before anything is run.
GenerateResult generate(Runner& runner, Sampler& sampler, TextStream stream,
                        std::span<const int64_t> prompt, const GenerateOptions& options,
                        const std::function<void(std::string_view)>& on_text);

}  // namespace lathe
