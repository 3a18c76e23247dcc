#include "passes/pipelines.h"

#include <algorithm>
#include <optional>

#include "graph/verifier.h"

namespace lathe {
namespace {

/// A pass that has nothing to ask.
template <void (*kRun)(Graph&)>
void plain(Graph& graph, const PassOptions&) {
  kRun(graph);
}

constexpr bool kNeeded = true;

/// A pass of a pipeline, for every target or for one.
struct Step {
  Pass pass;
  std::optional<Target> only = {};
};

// --- hf

constexpr Step kHfBuild[] = {
    {{"remove_redundancy", plain<remove_redundancy>}},
    {{"fold_constants", plain<fold_constants>}},
    {{"split_projections", plain<split_projections>}},
    {{"recompose_rms_norm", plain<recompose_rms_norm>}},
    {{"recompose_silu", plain<recompose_silu>}, Target::cpu},
    {{"precomputed_rope", plain<precomputed_rope>}},
    {{"custom_static_cache", plain<custom_static_cache>}},
    {{"deinterleave_rope", plain<deinterleave_rope>}},
    {{"canonicalize_rope", plain<canonicalize_rope>}},
    {{"r3", r3}},
    {{"masked_softmax", masked_softmax}},
    {{"convert_linear_to_conv2d", plain<convert_linear_to_conv2d>}},
    {{"sink_layout", plain<sink_layout>}},
    {{"decompose_silu", plain<decompose_silu>}, Target::htp},
    {{"fuse_consecutive_reshape", plain<fuse_consecutive_reshape>}},
    {{"fuse_consecutive_permute", plain<fuse_consecutive_permute>}},
    {{"fuse_consecutive_cast", plain<fuse_consecutive_cast>}},
    {{"dead_code", plain<dead_code>}},
};

constexpr Step kAnnotate[] = {
    {{"separate_weights", plain<separate_weights>}},
    {{"annotate", annotate, kNeeded}},
    {{"annotate_products", annotate_products}},  // what the recipe's rules say
    {{"annotate_kv_8bit", annotate_kv_8bit}},
    {{"insert_requantize", plain<insert_requantize>}},
};

constexpr Step kLower[] = {
    {{"fold_qdq", plain<fold_qdq>, kNeeded}},
    {{"tag_quant_io", plain<tag_quant_io>, kNeeded}},
    {{"mha_to_sha", plain<mha_to_sha>}, Target::htp},
    {{"dead_code", plain<dead_code>}},
};

// --- static: the frontend gives the final form

constexpr Step kStaticBuild[] = {
    {{"dead_code", plain<dead_code>}},
};

// --- hf_mainline: 16-bit caches, products become convolutions when everything else is done

constexpr Step kMainlineBuild[] = {
    {{"remove_redundancy", plain<remove_redundancy>}},
    {{"fold_constants", plain<fold_constants>}},
    {{"bounded_mask", plain<bounded_mask>}},
    {{"dead_code", plain<dead_code>}},
};

constexpr Step kMainlineAnnotate[] = {
    {{"separate_weights", plain<separate_weights>}},
    {{"annotate", annotate, kNeeded}},
    {{"annotate_products", annotate_products}},
    {{"insert_requantize", plain<insert_requantize>}},
};

constexpr Step kMainlineLower[] = {
    {{"fold_qdq", plain<fold_qdq>, kNeeded}},
    {{"tag_quant_io", plain<tag_quant_io>, kNeeded}},
    {{"convert_linear_to_conv2d", plain<convert_linear_to_conv2d>}},
    {{"dead_code", plain<dead_code>}},
};

// --- transforms

constexpr Pass kRotations[] = {
    {"rotate_residual", plain<rotate_residual>},
    {"rotate_values", plain<rotate_values>},
};

// --- exports of integer graphs

constexpr Pass kExport[] = {
    {"decompose_silu", plain<decompose_silu>},
    {"dead_code", plain<dead_code>},
};

constexpr Pass kHtpExport[] = {
    {"decompose_silu", plain<decompose_silu>},
    {"mha_to_sha", plain<mha_to_sha>},
    {"dead_code", plain<dead_code>},
};

}  // namespace

std::string_view name_of(Variant variant) {
  switch (variant) {
    case Variant::hf:
      return "hf";
    case Variant::hf_mainline:
      return "hf_mainline";
    case Variant::static_form:
      return "static";
  }
  return "";
}

std::string_view name_of(Target target) { return target == Target::cpu ? "cpu" : "htp"; }

Pipeline pipeline_of(Variant variant, Target target) {
  const auto passes = [&](std::span<const Step> steps) {
    std::vector<Pass> chosen;
    for (const Step& step : steps) {
      if (step.only.value_or(target) == target) chosen.push_back(step.pass);
    }
    return chosen;
  };
  switch (variant) {
    case Variant::hf:
      return {passes(kHfBuild), passes(kAnnotate), passes(kLower)};
    case Variant::hf_mainline:
      return {passes(kMainlineBuild), passes(kMainlineAnnotate), passes(kMainlineLower)};
    case Variant::static_form:
      return {passes(kStaticBuild), passes(kAnnotate), passes(kLower)};
  }
  return {};
}

std::span<const Pass> rotations() { return kRotations; }

std::span<const Pass> export_pipeline(Target target) {
  if (target == Target::htp) return kHtpExport;
  return kExport;
}

std::vector<std::string_view> pass_names() {
  std::vector<std::string_view> names;
  const auto add = [&](std::span<const Pass> passes) {
    for (const Pass& pass : passes) names.push_back(pass.name);
  };
  for (const Variant variant : {Variant::hf, Variant::hf_mainline, Variant::static_form}) {
    for (const Target target : {Target::cpu, Target::htp}) {
      const Pipeline pipeline = pipeline_of(variant, target);
      add(pipeline.build);
      add(pipeline.annotate);
      add(pipeline.lower);
    }
  }
  add(kRotations);
  add(kHtpExport);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

bool PassControl::leaves_out(const Pass& pass) const {
  return std::find(disabled.begin(), disabled.end(), pass.name) != disabled.end();
}

void run_passes(Graph& graph, std::span<const Pass> passes, const PassControl& control) {
  for (const Pass& pass : passes) {
    if (control.leaves_out(pass)) continue;
    pass.run(graph, control.options);
    verify(graph);
    if (control.after) control.after(pass.name, graph);
  }
}

}  // namespace lathe
