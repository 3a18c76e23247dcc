#pragma once

#include <cstdint>

namespace lathe::testing {

/// A small graph, and how far its codes may be from the reference executor's.
struct OnnxCase {
  const char* name;
  const char* graph;
  int64_t cpu_codes = 1;
  int64_t htp_codes = 2;  ///< on Qualcomm's simulator
};

inline const OnnxCase kOnnxCases[] = {
    {"a product with 8 bits and a bias", R"(
    graph decode ar=4 cl=4
    input %x : u16[1, 64, 1, 4]<0.0001, 32768>
    const %w : i8[32, 64, 1, 1]<per channel 0>
    const %b : i32[32]<per channel 0>
    %y = aten.conv2d(%x, %w, %b) : u16[1, 32, 1, 4]<0.001, 32768>
    output y = %y)"},
    // Weights of 4 bits leave the last bits of a product of 16 bits to chance on the HTP.
    {"a product with 4 bits", R"(
    graph decode ar=4 cl=4
    input %x : u16[1, 64, 1, 4]<0.0001, 32768>
    const %w : i4[32, 64, 1, 1]<per channel 0>
    %y = aten.conv2d(%x, %w) : u16[1, 32, 1, 4]<0.0001, 32768>
    output y = %y)",
     1, 16},
    {"a product with blocks of 4 bits", R"(
    graph decode ar=4 cl=4
    input %x : u16[1, 64, 1, 4]<0.0001, 32768>
    const %w : i4[32, 64, 1, 1]<per channel 0, blocks of 32>
    %y = aten.conv2d(%x, %w) : u16[1, 32, 1, 4]<0.001, 32768>
    output y = %y)"},
    {"linear", R"(
    graph decode ar=4 cl=4
    input %x : u16[1, 4, 64]<0.0001, 32768>
    const %w : i8[32, 64]<per channel 0>
    %y = aten.linear(%x, %w) : u16[1, 4, 32]<0.001, 32768>
    output y = %y)"},
    {"a Hadamard transform", R"(
    graph decode ar=4 cl=4
    input %x : u16[1, 2, 4, 64]<0.0001, 32768>
    %y = lathe.hadamard(%x) : u16[1, 2, 4, 64]<0.0001, 32768>
    output y = %y)"},
    {"attention", R"(
    graph decode ar=2 cl=16
    input %q : u16[1, 2, 2, 32]<0.0001, 32768>
    input %k : u8[1, 2, 32, 16]<0.01, 128>
    input %v : u8[1, 2, 16, 32]<0.01, 128>
    input %mask : u16[1, 1, 2, 16]<0.0038910506, 65535>
    %scores = aten.matmul(%q, %k) : u16[1, 2, 2, 16]<0.0015, 32768>
    %scaled = aten.mul(%scores) {other=0.1767766952966369} : u16[1, 2, 2, 16]<0.00026516504, 32768>
    %masked = aten.add(%scaled, %mask) : u16[1, 2, 2, 16]<0.004, 64000>
    %p = aten.softmax(%masked) {dim=-1} : u16[1, 2, 2, 16]
    %y = aten.matmul(%p, %v) : u16[1, 2, 2, 32]<0.00004, 32768>
    output y = %y)",
     8, 32},
    {"a masked softmax", R"(
    graph decode ar=2 cl=16
    input %scores : u16[1, 2, 2, 16]<0.0002, 30000>
    input %mask : u16[1, 1, 2, 16]<0.0038910506, 65535>
    %p = lathe.masked_softmax(%scores, %mask) {dim=-1, below=20} : u16[1, 2, 2, 16]
    output y = %p)",
     16, 32},
    {"a norm and a gate", R"(
    graph decode ar=2 cl=2
    input %x : u16[1, 2, 64]<0.001, 32768>
    const %w : u16[64]<0.0001, 0>
    %norm = lathe.rms_norm(%x, %w) {eps=1e-05} : u16[1, 2, 64]<0.0004, 32768>
    %gate = aten.sigmoid(%norm) : u16[1, 2, 64]
    %y = aten.mul(%norm, %gate) : u16[1, 2, 64]<0.0003, 16000>
    output y = %y)",
     2, 4},
    // The HTP's gelu keeps 11 bits of a number.
    {"a gate of gelu", R"(
    graph decode ar=2 cl=2
    input %x : u16[1, 2, 1024]<0.00025, 32768>
    %y = aten.gelu(%x) {approximate=tanh} : u16[1, 2, 1024]<0.00013, 1300>
    output y = %y)",
     1, 32},
    {"gelu with erf", R"(
    graph decode ar=2 cl=2
    input %x : u16[1, 2, 1024]<0.00025, 32768>
    %y = aten.gelu(%x) {approximate=none} : u16[1, 2, 1024]<0.00013, 1300>
    output y = %y)",
     1, 32},
    {"a soft cap", R"(
    graph decode ar=2 cl=2
    input %x : u16[1, 2, 64]<0.0001, 32768>
    %small = aten.div(%x) {other=5} : u16[1, 2, 64]<0.00002, 32768>
    %capped = aten.tanh(%small) : u16[1, 2, 64]<0.00003051804, 32768>
    %y = aten.mul(%capped) {other=5} : u16[1, 2, 64]<0.0001525902, 32768>
    output y = %y)",
     1, 4},
    {"movements", R"(
    graph decode ar=2 cl=4
    input %ids : i32[1, 2]
    input %past : u16[1, 2, 4, 2]<0.001, 32768>
    const %table : u16[16, 8]<0.001, 32768>
    %rows = aten.embedding(%table, %ids) : u16[1, 2, 8]
    %heads = aten.view(%rows) {sizes=[1, 2, 2, 4]} : u16[1, 2, 2, 4]
    %turned = aten.permute(%heads) {dims=[0, 2, 3, 1]} : u16[1, 2, 4, 2]
    %low = aten.slice(%turned) {dim=2, start=1, end=3} : u16[1, 2, 2, 2]
    %joined = aten.cat(%past, %low) {dim=2} : u16[1, 2, 6, 2]
    %second = aten.select(%joined) {dim=1, index=1} : u16[1, 6, 2]
    %back = aten.unsqueeze(%second) {dim=1} : u16[1, 1, 6, 2]
    %wide = aten.expand(%back) {sizes=[1, 3, 6, 2]} : u16[1, 3, 6, 2]
    %across = aten.transpose(%wide) {dim0=2, dim1=3} : u16[1, 3, 2, 6]
    %small = lathe.requantize(%across) : u8[1, 3, 2, 6]<0.25, 128>
    %y = aten.add(%small, %small) : u8[1, 3, 2, 6]<0.5, 128>
    output y = %y)"},
    {"halves of a packed projection", R"(
    graph decode ar=2 cl=2
    input %x : u16[1, 2, 64]<0.0001, 32768>
    %parts = aten.chunk(%x) {chunks=2, dim=-1} : u16[2, 1, 2, 32]
    %first = operator.getitem(%parts) {index=0} : u16[1, 2, 32]
    %second = operator.getitem(%parts) {index=1} : u16[1, 2, 32]
    %y = aten.mul(%first, %second) : u16[1, 2, 32]<0.0004, 32768>
    output y = %y)"},
    // ONNX has no rsqrt, and the HTP's power of -0.5 is right to 0.4 %.
    {"a norm as it is traced", R"(
    graph decode ar=2 cl=2
    input %x : u16[1, 2, 64]<0.0001, 32768>
    %squares = aten.pow(%x) {exponent=2} : u16[1, 2, 64]<0.0002, 0>
    %mean = aten.mean(%squares) {dim=-1} : u16[1, 2, 1]<0.0001, 0>
    %above = aten.add(%mean) {other=1e-05} : u16[1, 2, 1]<0.0001, 0>
    %scale = aten.rsqrt(%above) : u16[1, 2, 1]<0.00002, 0>
    %scaled = aten.mul(%x, %scale) : u16[1, 2, 64]<0.00006, 32768>
    %y = aten.neg(%scaled) : u16[1, 2, 64]<0.00006, 32768>
    output y = %y)",
     4, 160},
    {"rotary angles", R"(
    graph decode ar=2 cl=2
    input %angle : u16[1, 2, 16]<0.0001, 0>
    %cos = aten.cos(%angle) : u16[1, 2, 16]<0.00003051804, 32768>
    %sin = aten.sin(%angle) : u16[1, 2, 16]<0.00003051804, 32768>
    %y = aten.sub(%cos, %sin) : u16[1, 2, 16]<0.00004, 32768>
    output y = %y)",
     2, 16},
};

}  // namespace lathe::testing
