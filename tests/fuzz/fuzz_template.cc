// Any bytes as a chat template: rendered with a small conversation, or refused with Error.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "support/error.h"
#include "text/encode_chat.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  try {
    const auto context = lathe::chat_context({{"system", "s"}, {"user", "u"}}, {{"bos_token", "B"}},
                                             {.arguments = {{"tools", {{{"name", "t"}}}}}});
    lathe::ChatTemplate::parse(source).render(context, "2024-07-04T09:05:07");
  } catch (const lathe::Error&) {
  }
  return 0;
}
