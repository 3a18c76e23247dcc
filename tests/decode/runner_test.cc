#include "decode/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "decode/fake_model.h"
#include "support/error.h"

namespace lathe {
namespace {

using test::FakeModel;
using test::FakeSessionLog;
using test::make_fake_session;
using testing::HasSubstr;

constexpr int64_t kChunk = 4;  // AR of the prefill graph

/// Ids that differ from each other and from the padding.
std::vector<int64_t> some_ids(int64_t count) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(1 + (7 * i + 3) % 31);
  return ids;
}

std::vector<int32_t> codes(const LogitsRow& row) {
  std::vector<int32_t> out;
  const TensorView view =
      dense_view(row.format.dtype, {row.vocab}, const_cast<std::byte*>(row.data));
  for (int64_t i = 0; i < row.vocab; ++i) out.push_back(test::load(view, {i}));
  return out;
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

struct Contract {
  const char* name;
  CacheStyle style;
  bool dense;  ///< sessions want their inputs dense
  int64_t window = 0;
};

/// Everything holds for graphs of both styles of cache, for sessions that read no gaps, and for
/// sliding layers: with a window of less than a chunk, of more, and of more than the slots that
/// the prefill graph has.
class RunnerTest : public testing::TestWithParam<Contract> {
 protected:
  RunnerTest() {
    model_.cache_style = GetParam().style;
    model_.window = GetParam().window;
  }

  std::unique_ptr<Session> session(int64_t tokens, FakeSessionLog* log) const {
    return make_fake_session(model_.contract(tokens), log, GetParam().dense);
  }

  Runner make(RunMode mode, bool with_prefill = true) {
    return Runner(session(1, &decode_log_), with_prefill ? session(kChunk, &prefill_log_) : nullptr,
                  mode);
  }

  void TearDown() override {
    EXPECT_EQ(decode_log_.faults, 0);
    EXPECT_EQ(prefill_log_.faults, 0);
  }

  FakeModel model_;
  FakeSessionLog decode_log_;
  FakeSessionLog prefill_log_;
};

INSTANTIATE_TEST_SUITE_P(, RunnerTest,
                         testing::Values(Contract{"pairs", CacheStyle::pairs, false},
                                         Contract{"dense", CacheStyle::pairs, true},
                                         Contract{"whole", CacheStyle::whole, false},
                                         Contract{"window_3", CacheStyle::pairs, false, 3},
                                         Contract{"window_6", CacheStyle::pairs, false, 6},
                                         Contract{"window_14", CacheStyle::pairs, false, 14},
                                         Contract{"window_15", CacheStyle::pairs, false, 15},
                                         Contract{"dense_window_6", CacheStyle::pairs, true, 6},
                                         Contract{"dense_window_14", CacheStyle::pairs, true, 14}),
                         [](const auto& info) { return info.param.name; });

// Shorter than a chunk, one less, as long, one more, two chunks, and every other length there is:
// near the end of the context a whole chunk no longer fits.
TEST_P(RunnerTest, PromptOfAnyLengthGivesTheLogitsOfItsDefinition) {
  for (const RunMode mode : {RunMode::hybrid, RunMode::kv}) {
    Runner runner = make(mode);
    for (int64_t length = 1; length <= model_.context; ++length) {
      SCOPED_TRACE(length);
      runner.reset();
      const std::vector<int64_t> ids = some_ids(length);
      EXPECT_EQ(codes(runner.prefill(ids)), model_.logits_after(ids));
      EXPECT_EQ(runner.position(), length);
      EXPECT_EQ(runner.remaining(), model_.context - length);
    }
  }
}

// Beginning anywhere, so that near the end of the context a whole chunk no longer fits.
TEST_P(RunnerTest, PromptMayBeginAnywhere) {
  const std::vector<int64_t> ids = some_ids(model_.context);
  Runner runner = make(RunMode::hybrid);
  for (size_t begin = 1; begin < ids.size(); ++begin) {
    SCOPED_TRACE(begin);
    runner.reset();
    runner.prefill(std::span(ids).first(begin));
    EXPECT_EQ(codes(runner.prefill(std::span(ids).subspan(begin))), model_.logits_after(ids));
  }
}

TEST_P(RunnerTest, FloatAndWideCachesWorkAsByteCachesDo) {
  for (const DType cache : {DType::u16, DType::f32}) {
    model_.cache_type = cache;
    model_.wide_type = cache;
    Runner runner = make(RunMode::hybrid);
    const std::vector<int64_t> ids = some_ids(7);
    EXPECT_EQ(codes(runner.prefill(ids)), model_.logits_after(ids));
  }
}

TEST_P(RunnerTest, StepsFollowAPromptUntilTheContextIsFull) {
  Runner runner = make(RunMode::hybrid);
  std::vector<int64_t> ids = some_ids(6);
  runner.prefill(ids);
  while (runner.remaining() > 0) {
    ids.push_back(model_.greedy_after(ids));
    EXPECT_EQ(codes(runner.step(ids.back())), model_.logits_after(ids));
  }
  EXPECT_EQ(std::ssize(ids), model_.context);
  EXPECT_THAT(message_of([&] { runner.step(1); }), HasSubstr("longer than the context"));
}

TEST_P(RunnerTest, TurnsAppendToWhatIsThere) {
  Runner runner = make(RunMode::hybrid);
  const std::vector<int64_t> ids = some_ids(14);
  const std::span<const int64_t> all(ids);
  runner.prefill(all.first(5));
  runner.step(ids[5]);
  EXPECT_EQ(codes(runner.prefill(all.subspan(6, 6))), model_.logits_after(all.first(12)));
  EXPECT_EQ(codes(runner.prefill(all.subspan(12))), model_.logits_after(ids));
  EXPECT_THAT(runner.history(), testing::ElementsAreArray(ids));
}

TEST_P(RunnerTest, TruncatedTokensLeaveNoTrace) {
  Runner runner = make(RunMode::hybrid);
  runner.prefill(some_ids(13));
  runner.truncate(3);
  EXPECT_EQ(runner.position(), 3);
  std::vector<int64_t> ids = some_ids(3);
  for (const int64_t id : {30, 29, 28, 27, 26}) ids.push_back(id);
  EXPECT_EQ(codes(runner.prefill(std::span(ids).subspan(3))), model_.logits_after(ids));

  EXPECT_THAT(message_of([&] { runner.truncate(9); }), HasSubstr("expected 0 to 8, found 9"));
  EXPECT_THAT(message_of([&] { runner.truncate(-1); }), HasSubstr("found -1"));
}

TEST_P(RunnerTest, KeepsTheBeginningThatTwoConversationsShare) {
  Runner runner = make(RunMode::hybrid);
  const std::vector<int64_t> ids = some_ids(8);
  runner.prefill(ids);

  std::vector<int64_t> other(ids.begin(), ids.begin() + 5);
  other.insert(other.end(), {20, 21});
  const auto rest = runner.keep_common(other);
  if (model_.window == 0 || model_.window >= 8) {
    EXPECT_THAT(rest, testing::ElementsAre(20, 21));
    EXPECT_EQ(runner.position(), 5);
  } else {  // the window has moved on
    EXPECT_THAT(rest, testing::ElementsAreArray(other));
    EXPECT_EQ(runner.position(), 0);
  }
  EXPECT_EQ(codes(runner.prefill(rest)), model_.logits_after(other));

  // Nothing new: the last id is run again for its logits.
  const auto last = runner.keep_common(other);
  EXPECT_THAT(last, testing::ElementsAre(21));
  EXPECT_EQ(codes(runner.prefill(last)), model_.logits_after(other));
}

TEST_P(RunnerTest, GivesTheLogitsOfEveryPositionAsRealValues) {
  for (const RunMode mode : {RunMode::hybrid, RunMode::kv}) {
    Runner runner = make(mode);
    const std::vector<int64_t> ids = some_ids(11);
    const std::span<const int64_t> all(ids);
    runner.prefill(all.first(2));
    int64_t next = 2;
    runner.prefill(all.subspan(2), [&](int64_t position, std::span<const float> row) {
      EXPECT_EQ(position, next++);
      const auto expected = model_.logits_after(all.first(static_cast<size_t>(position) + 1));
      for (size_t id = 0; id < expected.size(); ++id) {
        EXPECT_EQ(row[id], static_cast<float>(expected[id] - 32768) * 0.001f);
      }
    });
    EXPECT_EQ(next, 11);
  }
}

TEST_P(RunnerTest, LogitsAreMadeOnlyWhereTheyAreWanted) {
  Runner runner = make(RunMode::hybrid);
  runner.prefill(some_ids(10));  // 4 + 4 + 2 filled up
  EXPECT_EQ(prefill_log_.runs, 3);
  EXPECT_EQ(prefill_log_.runs_with_logits, 1);
  EXPECT_EQ(decode_log_.runs, 0);

  runner.reset();
  runner.prefill(some_ids(9), [](int64_t, std::span<const float>) {});  // 4 + 4 + a single token
  EXPECT_EQ(prefill_log_.runs, 5);
  EXPECT_EQ(prefill_log_.runs_with_logits, 3);
  EXPECT_EQ(decode_log_.runs_with_logits, 1);
}

TEST_P(RunnerTest, ModeKvUsesTheDecodeGraphAlone) {
  Runner runner = make(RunMode::kv);
  runner.prefill(some_ids(9));
  EXPECT_EQ(prefill_log_.runs, 0);
  EXPECT_EQ(decode_log_.runs, 9);
  EXPECT_EQ(decode_log_.runs_with_logits, 1);
}

TEST_P(RunnerTest, WorksWithoutAPrefillGraph) {
  Runner runner = make(RunMode::hybrid, false);
  const std::vector<int64_t> ids = some_ids(9);
  EXPECT_EQ(codes(runner.prefill(ids)), model_.logits_after(ids));
}

TEST_P(RunnerTest, PrefillGraphMayTakeTheWholeContextAtOnce) {
  Runner runner(session(1, &decode_log_), session(model_.context, &prefill_log_), RunMode::hybrid);
  std::vector<int64_t> ids = some_ids(9);
  EXPECT_EQ(codes(runner.prefill(ids)), model_.logits_after(ids));
  EXPECT_EQ(prefill_log_.runs, 1);
  ids.push_back(5);
  EXPECT_EQ(codes(runner.step(5)), model_.logits_after(ids));
}

TEST_P(RunnerTest, RefusesBadPromptsBeforeRunning) {
  Runner runner = make(RunMode::hybrid);
  EXPECT_THAT(message_of([&] { runner.prefill({}); }),
              HasSubstr("prompt has no tokens; give some text"));
  EXPECT_THAT(message_of([&] { runner.prefill(some_ids(17)); }),
              HasSubstr("longer than the context: expected at most 16 tokens, found 17"));
  EXPECT_THAT(message_of([&] { runner.prefill(std::vector<int64_t>{1, 32}); }),
              HasSubstr("expected 0 to 31, found 32"));
  EXPECT_THAT(message_of([&] { runner.prefill(std::vector<int64_t>{-1}); }), HasSubstr("found -1"));
  EXPECT_EQ(decode_log_.runs + prefill_log_.runs, 0);

  runner.prefill(some_ids(10));
  EXPECT_THAT(message_of([&] { runner.prefill(some_ids(7)); }),
              HasSubstr("found 7 after 10 tokens before it"));
  EXPECT_EQ(runner.position(), 10);
}

TEST_P(RunnerTest, RefusesGraphsThatDoNotBelongTogether) {
  const auto pair = [&](const FakeModel& other) {
    return message_of([&] {
      Runner(session(1, &decode_log_), make_fake_session(other.contract(kChunk), &prefill_log_),
             RunMode::hybrid);
    });
  };
  FakeModel other = model_;
  other.context = 32;
  EXPECT_THAT(pair(other), HasSubstr("differ in context (16 and 32)"));
  other = model_;
  other.vocab = 40;
  EXPECT_THAT(pair(other), HasSubstr("differ in vocabulary (32 and 40)"));
  other = model_;
  other.cache_type = DType::u16;
  EXPECT_THAT(pair(other), HasSubstr("cache of layer 0"));
  other = model_;
  other.cache_style =
      model_.cache_style == CacheStyle::pairs ? CacheStyle::whole : CacheStyle::pairs;
  EXPECT_THAT(pair(other), HasSubstr("differ in the style of their caches"));

  EXPECT_THAT(message_of([&] { Runner(session(kChunk, &prefill_log_), nullptr, RunMode::hybrid); }),
              HasSubstr("expected 1, found 4"));
}

}  // namespace
}  // namespace lathe
