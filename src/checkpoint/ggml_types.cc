#include "checkpoint/ggml_types.h"

#include <array>

#include "checkpoint/ggml_blocks.h"
#include "checkpoint/widen.h"

namespace lathe {
namespace {

using ggml::kSmall;
using ggml::kSuper;

template <DType dtype>
void plain(const std::byte* in, std::span<float> out) {
  widen(dtype, in, out);
}

constexpr std::array<GgmlType, 16> kTypes{{{0, "F32", 1, 4, plain<DType::f32>},
                                           {1, "F16", 1, 2, plain<DType::f16>},
                                           {2, "Q4_0", kSmall, 18, ggml::q4_0},
                                           {3, "Q4_1", kSmall, 20, ggml::q4_1},
                                           {6, "Q5_0", kSmall, 22, ggml::q5_0},
                                           {7, "Q5_1", kSmall, 24, ggml::q5_1},
                                           {8, "Q8_0", kSmall, 34, ggml::q8_0},
                                           {10, "Q2_K", kSuper, 84, ggml::q2_k},
                                           {11, "Q3_K", kSuper, 110, ggml::q3_k},
                                           {12, "Q4_K", kSuper, 144, ggml::q4_k},
                                           {13, "Q5_K", kSuper, 176, ggml::q5_k},
                                           {14, "Q6_K", kSuper, 210, ggml::q6_k},
                                           {20, "IQ4_NL", kSmall, 18, ggml::iq4_nl},
                                           {23, "IQ4_XS", kSuper, 136, ggml::iq4_xs},
                                           {30, "BF16", 1, 2, plain<DType::bf16>},
                                           {39, "MXFP4", kSmall, 17, ggml::mxfp4}}};

// Types that other programs read; an empty name is a number that is no longer used.
constexpr std::array<std::string_view, 40> kNames{
    "F32",     "F16",    "Q4_0",    "Q4_1",  "",       "",      "Q5_0",  "Q5_1",
    "Q8_0",    "Q8_1",   "Q2_K",    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K",  "Q8_K",
    "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS",
    "I8",      "I16",    "I32",     "I64",   "F64",    "IQ1_M", "BF16",  "",
    "",        "",       "TQ1_0",   "TQ2_0", "",       "",      "",      "MXFP4"};

}  // namespace

const GgmlType* find_ggml_type(uint32_t id) {
  for (const GgmlType& type : kTypes) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

std::string ggml_types_read() {
  std::string names;
  for (const GgmlType& type : kTypes) {
    names += (names.empty() ? "" : ", ") + std::string(type.name);
  }
  return names;
}

std::string ggml_type_name(uint32_t id) {
  if (id < kNames.size() && !kNames[id].empty()) return std::string(kNames[id]);
  return "type " + std::to_string(id);
}

}  // namespace lathe
