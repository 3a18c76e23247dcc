#include "quant/calibration_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/error.h"

namespace lathe {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string write(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string message(const std::string& path) {
  try {
    read_calibration(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(CalibrationData, DefaultHasProseAndConversations) {
  const CalibrationData data = default_calibration();
  ASSERT_EQ(data.texts.size(), 1u);
  EXPECT_THAT(data.texts[0], AllOf(HasSubstr("Lady Russell"), HasSubstr("Dinah")));
  EXPECT_GE(data.chats.size(), 3u);
  for (const CalibrationChat& chat : data.chats) EXPECT_EQ(chat.back().role, "assistant");
}

TEST(CalibrationData, ReadsATextWhole) {
  const CalibrationData data = read_calibration(write("a.txt", "One.\n\nTwo.\n"));
  EXPECT_THAT(data.texts, ElementsAre("One.\n\nTwo.\n"));
  EXPECT_TRUE(data.chats.empty());
}

TEST(CalibrationData, ReadsAConversationFromEveryLine) {
  const CalibrationData data =
      read_calibration(write("a.jsonl",
                             "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}\r\n\n"
                             "[{\"role\": \"system\", \"content\": \"S\"},"
                             " {\"role\": \"user\", \"content\": \"U\"}]"));
  EXPECT_THAT(data.chats, ElementsAre(CalibrationChat{{"user", "Hi"}},
                                      CalibrationChat{{"system", "S"}, {"user", "U"}}));
}

TEST(CalibrationData, NamesTheLineThatIsWrong) {
  const std::string good = "[{\"role\": \"user\", \"content\": \"Hi\"}]\n";
  EXPECT_THAT(message(write("b.jsonl", good + "\n[{]\n")), HasSubstr("line 3"));
  EXPECT_THAT(message(write("c.jsonl", good + "[]\n")), HasSubstr("line 2"));
  EXPECT_THAT(message(write("d.jsonl", good + "{\"text\": 1}\n")), HasSubstr("line 2"));
  EXPECT_THAT(message(write("e.jsonl", good + "[{\"role\": \"user\"}]\n")),
              AllOf(HasSubstr("line 2"), HasSubstr("content")));
  EXPECT_THAT(message(write("f.jsonl", "[{\"role\": \"robot\", \"content\": \"\"}]\n")),
              AllOf(HasSubstr("line 1"), HasSubstr("robot")));
}

TEST(CalibrationData, RefusesFilesWithoutDataAndOtherKinds) {
  EXPECT_THAT(message(write("empty.txt", " \n")), HasSubstr("empty"));
  EXPECT_THAT(message(write("a.csv", "a,b")), HasSubstr(".jsonl"));
  EXPECT_THAT(message(testing::TempDir() + "missing.txt"), HasSubstr("missing.txt"));
}

}  // namespace
}  // namespace lathe
