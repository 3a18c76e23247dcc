#pragma once

#include <fmt/format.h>

#include <string>

namespace lathe {

/// One layer of a Llama model with a key-value cache as codes, in the form that artifacts hold:
/// 4 heads of 16 in 2 groups, hidden size 128, 160 in the middle, 300 tokens. Encodings cover what
/// CodeGraph's random weights give.
inline std::string decoder(int64_t rows, int64_t context) {
  return fmt::format(R"(graph decode ar={ar} cl={cl}
input %tokens : i32[1, {ar}]
input %attention_mask : u16[1, 1, {ar}, {cl}]<0.0038910506, 65535>
input %position : i32[1, {ar}]
input %k_cache_0 : u8[1, 2, 16, {past}]<0.12, 128>
input %v_cache_0 : u8[1, 2, {past}, 16]<0.1, 128>
const %table : u16[300, 128]<0.00003, 32768>
const %cos : u16[{cl}, 16]<0.00003, 32768>
const %sin : u16[{cl}, 16]<0.00003, 32768>
const %norm1 : u16[128]<0.00003, 32768>
const %norm2 : u16[128]<0.00003, 32768>
const %norm3 : u16[128]<0.00003, 32768>
const %wq : i8[64, 128]<per channel 0>
const %wk : i8[32, 128]<per channel 0>
const %wv : i8[32, 128]<per channel 0>
const %wo : i8[128, 64]<per channel 0>
const %wgate : i8[160, 128]<per channel 0>
const %wup : i8[160, 128]<per channel 0>
const %wdown : i8[128, 160]<per channel 0>
const %whead : i8[300, 128]<per channel 0>
%x = aten.embedding(%table, %tokens)
%c0 = aten.embedding(%cos, %position)
%s0 = aten.embedding(%sin, %position)
%c = aten.unsqueeze(%c0) {{dim=1}}
%s = aten.unsqueeze(%s0) {{dim=1}}
%n = lathe.rms_norm(%x, %norm1) {{eps=0.00001}}
%q0 = aten.linear(%n, %wq) : u16[1, {ar}, 64]<0.0004, 32768>
%q1 = aten.view(%q0) {{sizes=[1, {ar}, -1, 16]}}
%q2 = aten.transpose(%q1) {{dim0=1, dim1=2}}
%k0 = aten.linear(%n, %wk) : u16[1, {ar}, 32]<0.0004, 32768>
%k1 = aten.view(%k0) {{sizes=[1, {ar}, -1, 16]}}
%k2 = aten.transpose(%k1) {{dim0=1, dim1=2}}
%v0 = aten.linear(%n, %wv) : u16[1, {ar}, 32]<0.0004, 32768>
%v1 = lathe.requantize(%v0) : u8[1, {ar}, 32]<0.1, 128>
%v2 = aten.view(%v1) {{sizes=[1, {ar}, -1, 16]}}
%v = aten.transpose(%v2) {{dim0=1, dim1=2}}
%qlow = aten.slice(%q2) {{dim=3, start=0, end=8}}
%qhigh = aten.slice(%q2) {{dim=3, start=8, end=9223372036854775807}}
%qneg = aten.neg(%qhigh) : u16[1, 4, {ar}, 8]<0.0004, 32768>
%qrot = aten.cat(%qneg, %qlow) {{dim=-1}}
%qcos = aten.mul(%q2, %c) : u16[1, 4, {ar}, 16]<0.0004, 32768>
%qsin = aten.mul(%qrot, %s) : u16[1, 4, {ar}, 16]<0.0004, 32768>
%q = aten.add(%qcos, %qsin) : u16[1, 4, {ar}, 16]<0.0005, 32768>
%klow = aten.slice(%k2) {{dim=3, start=0, end=8}}
%khigh = aten.slice(%k2) {{dim=3, start=8, end=9223372036854775807}}
%kneg = aten.neg(%khigh) : u16[1, 2, {ar}, 8]<0.0004, 32768>
%krot = aten.cat(%kneg, %klow) {{dim=-1}}
%kcos = aten.mul(%k2, %c) : u16[1, 2, {ar}, 16]<0.0004, 32768>
%ksin = aten.mul(%krot, %s) : u16[1, 2, {ar}, 16]<0.0004, 32768>
%k3 = aten.add(%kcos, %ksin) : u16[1, 2, {ar}, 16]<0.0005, 32768>
%k4 = lathe.requantize(%k3) : u8[1, 2, {ar}, 16]<0.12, 128>
%k = aten.transpose(%k4) {{dim0=2, dim1=3}}
%kc = aten.cat(%k_cache_0, %k) {{dim=3}}
%ku = aten.unsqueeze(%kc) {{dim=2}}
%ke = aten.expand(%ku) {{sizes=[1, 2, 2, 16, {cl}]}}
%kr = aten.reshape(%ke) {{sizes=[1, 4, 16, {cl}]}}
%vc = aten.cat(%v_cache_0, %v) {{dim=2}}
%vu = aten.unsqueeze(%vc) {{dim=2}}
%ve = aten.expand(%vu) {{sizes=[1, 2, 2, {cl}, 16]}}
%vr = aten.reshape(%ve) {{sizes=[1, 4, {cl}, 16]}}
%scores = aten.matmul(%q, %kr) : u16[1, 4, {ar}, {cl}]<0.005, 32768>
%scaled = aten.mul(%scores) {{other=0.25}} : u16[1, 4, {ar}, {cl}]<0.00125, 32768>
%masked = aten.add(%scaled, %attention_mask) : u16[1, 4, {ar}, {cl}]<0.005, 56000>
%weights = aten.softmax(%masked) {{dim=-1}}
%a0 = aten.matmul(%weights, %vr) : u16[1, 4, {ar}, 16]<0.0003, 32768>
%a1 = aten.transpose(%a0) {{dim0=1, dim1=2}}
%a2 = aten.reshape(%a1) {{sizes=[1, {ar}, -1]}}
%a = aten.linear(%a2, %wo) : u16[1, {ar}, 128]<0.0009, 32768>
%h = aten.add(%x, %a) : u16[1, {ar}, 128]<0.0009, 32768>
%m = lathe.rms_norm(%h, %norm2) {{eps=0.00001}}
%gate = aten.linear(%m, %wgate) : u16[1, {ar}, 160]<0.0004, 32768>
%act = aten.silu(%gate) : u16[1, {ar}, 160]<0.0002, 1500>
%up = aten.linear(%m, %wup) : u16[1, {ar}, 160]<0.0004, 32768>
%product = aten.mul(%act, %up) : u16[1, {ar}, 160]<0.003, 32768>
%down = aten.linear(%product, %wdown) : u16[1, {ar}, 128]<0.003, 32768>
%out = aten.add(%h, %down) : u16[1, {ar}, 128]<0.003, 32768>
%last = lathe.rms_norm(%out, %norm3) {{eps=0.00001}}
%logits = aten.linear(%last, %whead) : u16[1, {ar}, 300]<0.0004, 32768>
output logits = %logits
output k_new_0 = %k
output v_new_0 = %v
)",
                     fmt::arg("ar", rows), fmt::arg("cl", context),
                     fmt::arg("past", context - rows));
}

}  // namespace lathe
