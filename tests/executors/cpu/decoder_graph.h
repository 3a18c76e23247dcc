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
const %cos : u16[{cl}, 8]<0.00003, 32768>
const %sin : u16[{cl}, 8]<0.00003, 32768>
const %norm1 : u16[128]<0.00003, 32768>
const %norm2 : u16[128]<0.00003, 32768>
const %norm3 : u16[128]<0.00003, 32768>
const %wq : i8[64, 128, 1, 1]<per channel 0>
const %wk : i8[32, 128, 1, 1]<per channel 0>
const %wv : i8[32, 128, 1, 1]<per channel 0>
const %wo : i8[128, 64, 1, 1]<per channel 0>
const %wgate : i8[160, 128, 1, 1]<per channel 0>
const %wup : i8[160, 128, 1, 1]<per channel 0>
const %wdown : i8[128, 160, 1, 1]<per channel 0>
const %whead : i8[300, 128, 1, 1]<per channel 0>
%x = aten.embedding(%table, %tokens)
%c0 = aten.embedding(%cos, %position)
%s0 = aten.embedding(%sin, %position)
%c = aten.unsqueeze(%c0) {{dim=1}}
%s = aten.unsqueeze(%s0) {{dim=1}}
%n = lathe.rms_norm(%x, %norm1) {{eps=0.00001}}
%nr = aten.reshape(%n) {{sizes=[1, {ar}, 128, 1]}}
%nt = aten.permute(%nr) {{dims=[0, 2, 3, 1]}}
%q0 = aten.conv2d(%nt, %wq) : u16[1, 64, 1, {ar}]<0.0004, 32768>
%q1 = aten.permute(%q0) {{dims=[0, 3, 1, 2]}}
%q2 = aten.reshape(%q1) {{sizes=[1, {ar}, 4, 16]}}
%q3 = aten.transpose(%q2) {{dim0=1, dim1=2}}
%k0 = aten.conv2d(%nt, %wk) : u16[1, 32, 1, {ar}]<0.0004, 32768>
%k1 = aten.permute(%k0) {{dims=[0, 3, 1, 2]}}
%k2 = aten.reshape(%k1) {{sizes=[1, {ar}, 2, 16]}}
%k3 = aten.transpose(%k2) {{dim0=1, dim1=2}}
%v0 = aten.conv2d(%nt, %wv) : u16[1, 32, 1, {ar}]<0.0004, 32768>
%v8 = lathe.requantize(%v0) : u8[1, 32, 1, {ar}]<0.1, 128>
%v1 = aten.permute(%v8) {{dims=[0, 3, 1, 2]}}
%v2 = aten.reshape(%v1) {{sizes=[1, {ar}, 2, 16]}}
%v3 = aten.transpose(%v2) {{dim0=1, dim1=2}}
%qx1 = aten.slice(%q3) {{dim=3, start=0, end=8}}
%qx2 = aten.slice(%q3) {{dim=3, start=8, end=16}}
%qa = aten.mul(%qx1, %c) : u16[1, 4, {ar}, 8]<0.0004, 32768>
%qb = aten.mul(%qx2, %s) : u16[1, 4, {ar}, 8]<0.00041, 32768>
%qlo = aten.sub(%qa, %qb) : u16[1, 4, {ar}, 8]<0.0005, 32768>
%qc = aten.mul(%qx2, %c) : u16[1, 4, {ar}, 8]<0.00042, 32768>
%qd = aten.mul(%qx1, %s) : u16[1, 4, {ar}, 8]<0.00043, 32768>
%qhi = aten.add(%qc, %qd) : u16[1, 4, {ar}, 8]<0.0005, 32768>
%qr = aten.cat(%qlo, %qhi) {{dim=3}}
%kx1 = aten.slice(%k3) {{dim=3, start=0, end=8}}
%kx2 = aten.slice(%k3) {{dim=3, start=8, end=16}}
%ka = aten.mul(%kx1, %c) : u16[1, 2, {ar}, 8]<0.0004, 32768>
%kb = aten.mul(%kx2, %s) : u16[1, 2, {ar}, 8]<0.00041, 32768>
%klo = aten.sub(%ka, %kb) : u16[1, 2, {ar}, 8]<0.0005, 32768>
%kc = aten.mul(%kx2, %c) : u16[1, 2, {ar}, 8]<0.00042, 32768>
%kd = aten.mul(%kx1, %s) : u16[1, 2, {ar}, 8]<0.00043, 32768>
%khi = aten.add(%kc, %kd) : u16[1, 2, {ar}, 8]<0.0005, 32768>
%klo8 = lathe.requantize(%klo) : u8[1, 2, {ar}, 8]<0.12, 128>
%khi8 = lathe.requantize(%khi) : u8[1, 2, {ar}, 8]<0.12, 128>
%kr = aten.cat(%klo8, %khi8) {{dim=3}}
%k = aten.transpose(%kr) {{dim0=2, dim1=3}}
%kcat = aten.cat(%k_cache_0, %k) {{dim=3}}
%ku = aten.unsqueeze(%kcat) {{dim=2}}
%ke = aten.expand(%ku) {{sizes=[1, 2, 2, 16, {cl}]}}
%kg = aten.reshape(%ke) {{sizes=[1, 4, 16, {cl}]}}
%vc = aten.cat(%v_cache_0, %v3) {{dim=2}}
%vu = aten.unsqueeze(%vc) {{dim=2}}
%ve = aten.expand(%vu) {{sizes=[1, 2, 2, {cl}, 16]}}
%vg = aten.reshape(%ve) {{sizes=[1, 4, {cl}, 16]}}
%scores = aten.matmul(%qr, %kg) : u16[1, 4, {ar}, {cl}]<0.005, 32768>
%scaled = aten.mul(%scores) {{other=0.25}} : u16[1, 4, {ar}, {cl}]<0.00125, 32768>
%masked = aten.add(%scaled, %attention_mask) : u16[1, 4, {ar}, {cl}]<0.005, 56000>
%weights = aten.softmax(%masked) {{dim=-1}}
%a0 = aten.matmul(%weights, %vg) : u16[1, 4, {ar}, 16]<0.0003, 32768>
%a1 = aten.transpose(%a0) {{dim0=1, dim1=2}}
%a2 = aten.reshape(%a1) {{sizes=[1, {ar}, 64, 1]}}
%a3 = aten.permute(%a2) {{dims=[0, 2, 3, 1]}}
%o0 = aten.conv2d(%a3, %wo) : u16[1, 128, 1, {ar}]<0.0009, 32768>
%op = aten.permute(%o0) {{dims=[0, 3, 1, 2]}}
%o = aten.reshape(%op) {{sizes=[1, {ar}, 128]}}
%h = aten.add(%x, %o) : u16[1, {ar}, 128]<0.0009, 32768>
%m = lathe.rms_norm(%h, %norm2) {{eps=0.00001}}
%mr = aten.reshape(%m) {{sizes=[1, {ar}, 128, 1]}}
%mt = aten.permute(%mr) {{dims=[0, 2, 3, 1]}}
%gate = aten.conv2d(%mt, %wgate) : u16[1, 160, 1, {ar}]<0.0004, 32768>
%act = aten.silu(%gate) : u16[1, 160, 1, {ar}]<0.0002, 1500>
%up = aten.conv2d(%mt, %wup) : u16[1, 160, 1, {ar}]<0.0004, 32768>
%product = aten.mul(%act, %up) : u16[1, 160, 1, {ar}]<0.003, 32768>
%d0 = aten.conv2d(%product, %wdown) : u16[1, 128, 1, {ar}]<0.003, 32768>
%downp = aten.permute(%d0) {{dims=[0, 3, 1, 2]}}
%down = aten.reshape(%downp) {{sizes=[1, {ar}, 128]}}
%out = aten.add(%h, %down) : u16[1, {ar}, 128]<0.003, 32768>
%last = lathe.rms_norm(%out, %norm3) {{eps=0.00001}}
%lr = aten.reshape(%last) {{sizes=[1, {ar}, 128, 1]}}
%lt = aten.permute(%lr) {{dims=[0, 2, 3, 1]}}
%l0 = aten.conv2d(%lt, %whead) : u16[1, 300, 1, {ar}]<0.0004, 32768>
%logitsp = aten.permute(%l0) {{dims=[0, 3, 1, 2]}}
%logits = aten.reshape(%logitsp) {{sizes=[1, {ar}, 300]}}
output logits = %logits
output k_new_0 = %k
output v_new_0 = %v3
)",
                     fmt::arg("ar", rows), fmt::arg("cl", context),
                     fmt::arg("past", context - rows));
}

}  // namespace lathe
