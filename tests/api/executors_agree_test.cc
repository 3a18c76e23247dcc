// One artifact, many ways to run it: executors, modes, numbers of threads, instruction sets.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "api/golden.h"
#include "api/model_cases.h"
#include "eval/agreement.h"
#include "executors/cpu/kernels/isa.h"
#include "lathe/compile.h"
#include "lathe/language_model.h"
#include "support/hasher.h"
#include "support/test_files.h"

namespace lathe {
namespace {

using testing::Golden;
using testing::ModelCase;
using testing::of_prompt;

constexpr int64_t kChunk = 32;

class ExecutorsAgree : public ::testing::TestWithParam<ModelCase> {
 protected:
  ExecutorsAgree() {
    compile(GetParam().source, artifact_, {.context = 128, .prefill = kChunk, .threads = 2});
  }

  std::unique_ptr<LanguageModel> open(const OpenOptions& options) const {
    return LanguageModel::open(artifact_, options);
  }
  std::vector<float> logits(const OpenOptions& options, std::span<const int64_t> ids) const {
    return testing::prefill_logits(open(options)->runner(), ids);
  }
  /// Two chunks of ids: the first prompt over and over.
  std::vector<int64_t> two_chunks() const {
    const std::vector<int64_t> prompt = golden_.ids("p0.input_ids");
    std::vector<int64_t> ids;
    while (ids.size() < 2 * kChunk) ids.push_back(prompt[ids.size() % prompt.size()]);
    return ids;
  }

  const Golden golden_{GetParam().golden};

 private:
  const testing::TestFolder folder_;
  const std::filesystem::path artifact_ = folder_ / "model.lathe";
};

double sqnr_db(std::span<const float> reference, std::span<const float> logits, size_t vocab) {
  AgreementMeter meter;
  for (size_t begin = 0; begin < reference.size(); begin += vocab) {
    meter.add(reference.subspan(begin, vocab), logits.subspan(begin, vocab));
  }
  return meter.result().sqnr_db;
}

TEST_P(ExecutorsAgree, CpuWritesWhatTheReferenceWrites) {
  for (const RunMode mode : {RunMode::kv, RunMode::hybrid}) {
    const auto cpu = open({.mode = mode, .threads = 2});
    const auto reference = open({.executor = ExecutorKind::reference, .mode = mode});
    for (int prompt = 0; prompt < GetParam().prompts; ++prompt) {
      std::vector<int64_t> ids = golden_.ids(of_prompt(prompt, "input_ids"));
      const std::vector<int64_t> written = testing::greedy(reference->runner(), ids, 48);
      EXPECT_EQ(testing::greedy(cpu->runner(), ids, 48), written) << "prompt " << prompt;

      ids.insert(ids.end(), written.begin(), written.end());
      cpu->runner().reset();
      reference->runner().reset();
      const double sqnr =
          sqnr_db(testing::prefill_logits(reference->runner(), ids),
                  testing::prefill_logits(cpu->runner(), ids), static_cast<size_t>(cpu->vocab()));
      EXPECT_GE(sqnr, 50.0) << "prompt " << prompt;
      testing::report_figure(
          (mode == RunMode::kv ? "sqnr_db_kv_p" : "sqnr_db_hybrid_p") + std::to_string(prompt),
          sqnr);
    }
  }
}

// A prompt that does not fill its last chunk gives what token by token gives.
TEST_P(ExecutorsAgree, ModesGiveTheSameLogitsForPromptsAroundTheChunk) {
  const std::vector<int64_t> ids = two_chunks();
  for (const size_t length : {1, 31, 32, 33, 64}) {
    const std::span<const int64_t> prompt = std::span(ids).first(length);
    for (const ExecutorKind executor : {ExecutorKind::cpu, ExecutorKind::reference}) {
      const std::vector<float> kv =
          logits({.executor = executor, .mode = RunMode::kv, .threads = 2}, prompt);
      const std::vector<float> hybrid =
          logits({.executor = executor, .mode = RunMode::hybrid, .threads = 2}, prompt);
      EXPECT_TRUE(kv == hybrid) << length << " tokens, executor "
                                << (executor == ExecutorKind::cpu ? "cpu" : "reference");
    }
  }
}

TEST_P(ExecutorsAgree, AnyNumberOfThreadsGivesTheSameLogits) {
  const std::vector<int64_t> ids = two_chunks();
  for (const RunMode mode : {RunMode::kv, RunMode::hybrid}) {
    const std::vector<float> one = logits({.mode = mode, .threads = 1}, ids);
    for (const int threads : {2, 3}) {
      EXPECT_TRUE(logits({.mode = mode, .threads = threads}, ids) == one) << threads << " threads";
    }
  }
}

/// Sets an environment variable, and puts back what was there.
class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), /*replace=*/1);
  }
  ~ScopedEnvironment() {
    if (before_) {
      ::setenv(name_, before_->c_str(), /*replace=*/1);
    } else {
      ::unsetenv(name_);
    }
  }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

std::string hash_of(std::span<const float> logits) {
  Hasher hasher;
  hasher.add(std::as_bytes(logits));
  return hasher.hex();
}

// A process chooses its instruction set once, so each one gets a process of its own: a "death" test
// of the style that starts the test anew, which compiles there as well.
TEST_P(ExecutorsAgree, AnyInstructionSetGivesTheSameLogits) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::vector<int64_t> ids = two_chunks();
  const std::string expected = hash_of(logits({.threads = 2}, ids));
  for (const Isa isa : available_isas()) {
    const ScopedEnvironment environment("LATHE_ISA", std::string(name_of(isa)));
    EXPECT_EXIT(
        {
          std::fputs(hash_of(logits({.threads = 2}, ids)).c_str(), stderr);
          std::exit(0);
        },
        ::testing::ExitedWithCode(0), expected)
        << name_of(isa);
  }
}

// The last three have windows of 16, 8 and 8 tokens.
INSTANTIATE_TEST_SUITE_P(, ExecutorsAgree,
                         ::testing::Values(testing::embedded_model(), testing::tiny_llama(),
                                           testing::tiny_model("mistral"),
                                           testing::tiny_model("gemma2"),
                                           testing::tiny_model("gemma3")),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
