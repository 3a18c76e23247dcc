#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lathe {

/// One message of a conversation to calibrate on.
struct CalibrationMessage {
  std::string role;  ///< "system", "user", "assistant"
  std::string content;
  bool operator==(const CalibrationMessage&) const = default;
};
using CalibrationChat = std::vector<CalibrationMessage>;

/// What a model reads while its ranges are observed. Tokenizing, and putting conversations into a
/// chat template, is the caller's work.
struct CalibrationData {
  std::vector<std::string> texts;
  std::vector<CalibrationChat> chats;
};

/// The built-in data: about 1,000 words of public-domain prose and a few conversations
/// (recipes/calibration).
CalibrationData default_calibration();

/// Reads `--calibration FILE`: ".txt" is one text; ".jsonl" has one conversation a line, as an
/// object with "messages" or as the list of messages itself. Empty lines are passed over. Throws
/// Error naming the line, for another extension, and for a file without data.
CalibrationData read_calibration(const std::filesystem::path& path);

}  // namespace lathe
