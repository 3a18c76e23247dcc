#include "passes/attention_layer.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "graph/text.h"
#include "passes/evaluate.h"

namespace lathe {
namespace {

/// conv2d -> (requantize) -> permute -> reshape -> transpose [1, heads, AR, 8]
std::string projection(const LayerForm& form, const char* name, int heads, bool requantized) {
  std::string text = fmt::format("const %{0}_proj.weight : f32[{1}, 16, 1, 1]\n", name, 8 * heads);
  std::string bias;
  if (form.bias) {
    text += fmt::format("const %{0}_proj.bias : f32[{1}]\n", name, 8 * heads);
    bias = fmt::format(", %{}_proj.bias", name);
  }
  text +=
      fmt::format("%{0} = aten.conv2d(%x, %{0}_proj.weight{1}) @ self_attn.{0}_proj\n", name, bias);
  std::string made = name;
  if (requantized) {
    made += ".u8";
    text += fmt::format("%{0}.u8 = lathe.requantize(%{0}) @ self_attn.{0}_proj\n", name);
  }
  text += fmt::format("%{0}.rows = aten.permute(%{1}) {{dims=[0, 3, 1, 2]}} @ self_attn.{0}_proj\n",
                      name, made);
  std::string rows = fmt::format("{}.rows", name);
  const bool norm = form.whole_norm && name != std::string_view("v");
  if (!form.fused || norm) {
    text += fmt::format(
        "%{0}.flat = aten.reshape(%{0}.rows) {{sizes=[1, {2}, {1}]}} @ self_attn.{0}_proj\n", name,
        8 * heads, form.tokens);
    rows = fmt::format("{}.flat", name);
  }
  if (norm) {
    text += fmt::format(
        "const %{0}_norm.weight : f32[{1}]\n"
        "%{0}.norm = lathe.rms_norm(%{0}.flat, %{0}_norm.weight) {{eps=1e-06}} @ "
        "self_attn.{0}_norm\n",
        name, 8 * heads);
    rows = fmt::format("{}.norm", name);
  }
  return text + fmt::format(
                    "%{0}.split = aten.reshape(%{1}) {{sizes=[1, {3}, {2}, 8]}} @ self_attn\n"
                    "%{0}.heads = aten.transpose(%{0}.split) {{dim0=1, dim1=2}} @ self_attn\n",
                    name, rows, heads, form.tokens);
}

/// Half-split RoPE and, where asked for, R3; keys become 8-bit where RoPE's sums are made.
std::string rope(const LayerForm& form, const char* name, bool requantized) {
  std::string text = fmt::format(
      "%{0}.1 = aten.slice(%{0}.heads) {{dim=3, start=0, end=4}} @ self_attn\n"
      "%{0}.2 = aten.slice(%{0}.heads) {{dim=3, start=4, end=8}} @ self_attn\n"
      "%{0}.1c = aten.mul(%{0}.1, %cos) @ self_attn\n"
      "%{0}.2s = aten.mul(%{0}.2, %sin) @ self_attn\n"
      "%{0}.low = aten.sub(%{0}.1c, %{0}.2s) @ self_attn\n"
      "%{0}.2c = aten.mul(%{0}.2, %cos) @ self_attn\n"
      "%{0}.1s = aten.mul(%{0}.1, %sin) @ self_attn\n"
      "%{0}.high = aten.add(%{0}.2c, %{0}.1s) @ self_attn\n",
      name);
  const bool halves = requantized && !form.hadamard;
  if (halves) {
    text += fmt::format(
        "%{0}.low8 = lathe.requantize(%{0}.low) @ self_attn\n"
        "%{0}.high8 = lathe.requantize(%{0}.high) @ self_attn\n",
        name);
  }
  text += fmt::format("%{0}.roped = aten.cat(%{0}.low{1}, %{0}.high{1}) {{dim=3}} @ self_attn\n",
                      name, halves ? "8" : "");
  if (!form.hadamard) return text;
  text += fmt::format("%{0}.r3 = lathe.hadamard(%{0}.roped) @ self_attn\n", name);
  if (requantized) text += fmt::format("%{0}.r38 = lathe.requantize(%{0}.r3) @ self_attn\n", name);
  return text;
}

/// The past and the new heads, and for grouped queries each of them repeated: [1, H, a, b].
std::string with_past(const LayerForm& form, const std::string& name, const char* cat, int a,
                      int b) {
  const int groups = form.heads / form.kv_heads;
  if (groups == 1) return fmt::format("%{} = {}\n", name, cat);
  return fmt::format(
      "%{0}.all = {6}\n"
      "%{0}.grouped = aten.unsqueeze(%{0}.all) {{dim=2}} @ self_attn\n"
      "%{0}.wide = aten.expand(%{0}.grouped) {{sizes=[1, {1}, {2}, {3}, {4}]}} @ self_attn\n"
      "%{0} = aten.reshape(%{0}.wide) {{sizes=[1, {5}, {3}, {4}]}} @ self_attn\n",
      name, form.kv_heads, groups, a, b, form.heads, cat);
}

}  // namespace

Graph attention_layer(const LayerForm& form) {
  const std::string keys = form.hadamard ? "k.r38" : "k.roped";
  const std::string queries = !form.rotary ? "q.heads" : form.hadamard ? "q.r3" : "q.roped";
  std::string text = fmt::format(
      "graph {2} ar={3} cl=6\n"
      "input %x : f32[1, 16, 1, {3}]\n"
      "input %attention_mask : f32[1, 1, {3}, 6]\n"
      "input %cos : f32[1, 1, {3}, 4]\n"
      "input %sin : f32[1, 1, {3}, 4]\n"
      "input %k_cache_0 : f32[1, {0}, 8, {4}]\n"
      "input %v_cache_0 : f32[1, {0}, {4}, 8]\n"
      "const %o_proj.weight : f32[16, {1}, 1, 1]\n",
      form.kv_heads, 8 * form.heads, form.tokens == 1 ? "decode" : "prefill", form.tokens,
      6 - form.tokens);
  text += projection(form, "q", form.heads, false);
  text += projection(form, "k", form.kv_heads, !form.rotary);
  text += projection(form, "v", form.kv_heads, true);
  if (form.rotary) {
    text += rope(form, "q", false) + rope(form, "k", true);
    text += fmt::format("%k.new = aten.transpose(%{}) {{dim0=2, dim1=3}} @ self_attn\n", keys);
  } else {
    text += "%k.new = aten.permute(%k.split) {dims=[0, 2, 3, 1]} @ self_attn\n";
  }
  text += with_past(form, "keys", "aten.cat(%k_cache_0, %k.new) {dim=3} @ self_attn", 8, 6);
  text += with_past(form, "values", "aten.cat(%v_cache_0, %v.heads) {dim=2} @ self_attn", 6, 8);
  text += fmt::format(
      "%scores = aten.matmul(%{}, %keys) @ self_attn\n"
      "%scaled = aten.mul(%scores) {{other=0.35}} @ self_attn\n"
      "{}"
      "%mixed = aten.matmul(%softmax, %values) @ self_attn\n"
      "%merged = aten.transpose(%mixed) {{dim0=1, dim1=2}} @ self_attn\n"
      "%o.rows = aten.reshape(%merged) {{sizes=[1, {}, {}, 1]}} @ self_attn\n"
      "%o.channels = aten.permute(%o.rows) {{dims=[0, 2, 3, 1]}} @ self_attn.o_proj\n"
      "%o = aten.conv2d(%o.channels, %o_proj.weight) @ self_attn.o_proj\n"
      "output y = %o\n"
      "output k_new_0 = %k.new\n"
      "output v_new_0 = %v.heads\n",
      queries,
      form.masked_softmax ? "%softmax = lathe.masked_softmax(%scaled, %attention_mask) "
                            "{dim=-1, below=20.0} @ self_attn\n"
                          : "%masked = aten.add(%scaled, %attention_mask) @ self_attn\n"
                            "%softmax = aten.softmax(%masked) {dim=-1} @ self_attn\n",
      form.tokens, 8 * form.heads);
  Graph graph = parse_graph(text);
  fill_constants(graph);
  return graph;
}

}  // namespace lathe
