#include "api/calibration_batches.h"

#include <string>

#include "quant/calibration_data.h"
#include "support/error.h"

namespace lathe {
namespace {

/// Ids of all texts and conversations, each at most what is left of `room`.
struct Ids {
  std::vector<std::vector<int64_t>> chats;
  std::vector<std::vector<int64_t>> texts;
};

Ids encode(const TextModel& text, const CalibrationData& data, int64_t room) {
  Ids ids;
  const auto take = [&](std::vector<int64_t> encoded, std::vector<std::vector<int64_t>>& list) {
    if (static_cast<int64_t>(encoded.size()) > room) encoded.resize(static_cast<size_t>(room));
    room -= static_cast<int64_t>(encoded.size());
    if (!encoded.empty()) list.push_back(std::move(encoded));
  };
  if (text.has_chat_template()) {
    for (const CalibrationChat& chat : data.chats) {
      std::vector<ChatMessage> messages;
      for (const CalibrationMessage& message : chat) {
        messages.push_back({message.role, message.content});
      }
      take(text.encode_chat(messages), ids.chats);
    }
  }
  for (const std::string& prose : data.texts) take(text.encode_prompt(prose), ids.texts);
  return ids;
}

}  // namespace

std::vector<CalibrationBatch> calibration_batches(const TextModel& text,
                                                  const std::filesystem::path& file, int64_t tokens,
                                                  int64_t length) {
  const Ids ids =
      encode(text, file.empty() ? default_calibration() : read_calibration(file), tokens);
  BatchPacker packer(length);
  for (const std::vector<int64_t>& prose : ids.texts) packer.add(prose);
  for (const std::vector<int64_t>& chat : ids.chats) packer.add(chat);
  std::vector<CalibrationBatch> batches = packer.take();
  if (batches.empty()) {
    fail({.what = "there is nothing to calibrate on",
          .where = file.string(),
          .advice = "chats need a model with a chat template; give a .txt file"});
  }
  return batches;
}

}  // namespace lathe
