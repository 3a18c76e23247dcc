#include <gtest/gtest.h>

#include <vector>

#include "decode/allocation_counter.h"
#include "decode/fake_model.h"
#include "decode/runner.h"
#include "decode/sampler.h"

namespace lathe {
namespace {

class Allocation : public testing::TestWithParam<CacheStyle> {};

TEST_P(Allocation, NoneInADecodeStepWhateverTheSampling) {
  test::FakeModel model;
  model.cache_style = GetParam();
  test::FakeSessionLog log;
  for (const SamplerOptions& options :
       {SamplerOptions{}, SamplerOptions{.repeat_penalty = 1.2f},
        SamplerOptions{.repeat_penalty = 1.2f, .temperature = 0.8f, .top_k = 9, .top_p = 0.9f},
        SamplerOptions{.temperature = 1.0f, .top_p = 0.7f, .min_p = 0.05f}}) {
    Runner runner(test::make_fake_session(model.contract(1), &log),
                  test::make_fake_session(model.contract(4), &log), RunMode::hybrid);
    Sampler sampler(options, model.vocab);
    LogitsRow logits = runner.prefill(std::vector<int64_t>{1, 2, 3, 4, 5});
    sampler.see_only(runner.history());
    int64_t id = sampler.sample(logits);
    logits = runner.step(id);

    const int64_t before = test::allocations();
    while (runner.remaining() > 0) {
      id = sampler.sample(logits);
      sampler.see(id);
      logits = runner.step(id);
    }
    EXPECT_EQ(test::allocations() - before, 0);
  }
  EXPECT_EQ(log.faults, 0);
}

INSTANTIATE_TEST_SUITE_P(, Allocation, testing::Values(CacheStyle::pairs, CacheStyle::whole),
                         [](const auto& info) {
                           return info.param == CacheStyle::pairs ? "pairs" : "whole";
                         });

}  // namespace
}  // namespace lathe
