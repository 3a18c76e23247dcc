// Any bytes as a GGUF file: the container, the config and the tokenizer that come out of it, and
// the values of every tensor are read or refused with Error.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/config.h"
#include "checkpoint/gguf.h"
#include "checkpoint/gguf_config.h"
#include "checkpoint/gguf_tokenizer.h"
#include "support/error.h"

namespace {

void read_tensors(const lathe::Gguf& gguf) {
  for (const lathe::GgufTensor& tensor : gguf.tensors()) {
    std::vector<float> values(static_cast<size_t>(lathe::elements(tensor.shape)));
    tensor.type->widen(tensor.bytes.data(), values);
  }
}

template <typename Action>
void allow_error(const Action& action) {
  try {
    action();
  } catch (const lathe::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  allow_error([&] {
    const lathe::Gguf gguf = lathe::Gguf::parse(bytes, "input");
    std::vector<std::string> warnings;
    allow_error([&] { read_tensors(gguf); });
    allow_error([&] {
      const lathe::GgufFamily& family = lathe::gguf_family(gguf);
      lathe::parse_model_config(lathe::gguf_config(gguf, family, warnings), "input");
    });
    allow_error([&] { lathe::gguf_text(gguf, warnings); });
  });
  return 0;
}
