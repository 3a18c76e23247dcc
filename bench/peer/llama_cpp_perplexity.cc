// The perplexity that llama.cpp gives a text, by the rule that `lathe eval` follows: windows of
// CONTEXT tokens that advance by STRIDE, each run by itself from position 0, every token but the
// first scored in the first window that holds it (src/eval/perplexity.h). llama.cpp's own
// llama-perplexity scores other tokens. Keys and values are kept in float32.
//
// usage: llama_cpp_perplexity MODEL.gguf CONTEXT STRIDE THREADS < ids (decimal, white space
// between)

#include <llama.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <vector>

namespace {

constexpr int32_t kTokensPerCall = 128;  // whose logits are kept at a time

[[noreturn]] void die(const char* message) {
  std::fprintf(stderr, "llama_cpp_perplexity: %s\n", message);
  std::exit(1);
}

void log_errors(ggml_log_level level, const char* text, void*) {
  if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
}

double negative_log_likelihood(const float* row, int32_t vocab, llama_token id) {
  const double highest = *std::max_element(row, row + vocab);
  double sum = 0.0;
  for (int32_t i = 0; i < vocab; ++i) sum += std::exp(row[i] - highest);
  return highest + std::log(sum) - row[id];
}

/// The summed negative log likelihood of the tokens [first_scored, ids.size()) of one window.
double run_window(llama_context* context, int32_t vocab, const std::vector<llama_token>& ids,
                  int32_t first_scored) {
  llama_memory_clear(llama_get_memory(context), true);
  llama_batch batch = llama_batch_init(kTokensPerCall, 0, 1);
  const auto count = static_cast<int32_t>(ids.size());
  double total = 0.0;
  for (int32_t begin = 0; begin < count; begin += kTokensPerCall) {
    batch.n_tokens = std::min(kTokensPerCall, count - begin);
    for (int32_t i = 0; i < batch.n_tokens; ++i) {
      batch.token[i] = ids[static_cast<size_t>(begin + i)];
      batch.pos[i] = begin + i;
      batch.n_seq_id[i] = 1;
      batch.seq_id[i][0] = 0;
      batch.logits[i] = 1;
    }
    if (llama_decode(context, batch) != 0) die("llama_decode failed");
    for (int32_t i = 0; i < batch.n_tokens; ++i) {
      const int32_t next = begin + i + 1;
      if (next < first_scored || next >= count) continue;
      total += negative_log_likelihood(llama_get_logits_ith(context, i), vocab,
                                       ids[static_cast<size_t>(next)]);
    }
  }
  llama_batch_free(batch);
  return total;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) die("usage: llama_cpp_perplexity MODEL.gguf CONTEXT STRIDE THREADS < ids");
  const long context_size = std::atol(argv[2]);
  const long stride = std::atol(argv[3]);
  if (context_size < 2 || stride < 1 || stride > context_size) die("bad CONTEXT or STRIDE");
  const std::vector<llama_token> ids(std::istream_iterator<llama_token>(std::cin), {});
  const auto count = static_cast<long>(ids.size());
  if (count < 2) die("at least two ids are needed");

  llama_log_set(log_errors, nullptr);
  llama_model* model = llama_model_load_from_file(argv[1], llama_model_default_params());
  if (model == nullptr) die("the model does not load");
  const int32_t vocab = llama_vocab_n_tokens(llama_model_get_vocab(model));
  for (const llama_token id : ids) {
    if (id < 0 || id >= vocab) die("an id is not in the vocabulary");
  }
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(context_size);
  params.n_batch = kTokensPerCall;
  params.n_ubatch = kTokensPerCall;
  params.n_threads = params.n_threads_batch = std::atoi(argv[4]);
  params.type_k = params.type_v = GGML_TYPE_F32;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) die("no context for the model");

  double total = 0.0;
  long scored = 0;  // end of the window before
  for (long begin = 0; scored < count; begin += stride) {
    const long end = std::min(begin + context_size, count);
    const long first_scored = std::max(scored, begin + 1);
    total += run_window(context, vocab, {ids.begin() + begin, ids.begin() + end},
                        static_cast<int32_t>(first_scored - begin));
    scored = end;
  }
  std::printf("{\"perplexity\": %.9g, \"tokens\": %ld}\n",
              std::exp(total / static_cast<double>(count - 1)), count - 1);
  llama_free(context);
  llama_model_free(model);
}
