#include "checkpoint/families/rope_fields.h"

#include <array>
#include <cmath>
#include <string>

#include "checkpoint/families/fields.h"
#include "support/error.h"

namespace lathe {
namespace {

constexpr double kMinFactor = 1e-6;
constexpr std::string_view kOriginal = "original_max_position_embeddings";
constexpr std::string_view kPartial = "partial_rotary_factor";

/// One dictionary of settings, and where what it lacks comes from.
struct Source {
  const JsonFields& settings;
  const JsonFields& config;
  const RopeRules& rules;
  const ModelConfig& model;

  /// What a config says outside of the dictionary comes first, as in transformers.
  int64_t original() const {
    const auto outside = config.optional_integer(kOriginal, 1, kMaxPositions);
    if (outside) return *outside;
    if (rules.original_max_position_embeddings) return *rules.original_max_position_embeddings;
    return settings.optional_integer(kOriginal, 1, kMaxPositions)
        .value_or(model.max_position_embeddings);
  }
  double stretch(int64_t original) const {
    return static_cast<double>(model.max_position_embeddings) / static_cast<double>(original);
  }
};

void read_llama3(const Source& from, RopeConfig& out) {
  out.kind = RopeConfig::Kind::llama3;
  out.factor = from.settings.number("factor", 1.0, kMaxFactor);
  out.low_freq_factor = from.settings.number("low_freq_factor", kMinFactor, kMaxFactor);
  out.high_freq_factor = from.settings.number("high_freq_factor", kMinFactor, kMaxFactor);
  if (out.high_freq_factor <= out.low_freq_factor) {
    fail({.what = "value out of range",
          .where = from.settings.place("high_freq_factor"),
          .expected = "more than low_freq_factor",
          .found = describe(out.high_freq_factor)});
  }
  out.original_max_position_embeddings = from.original();
}

/// How much longer a stretched context makes the vectors: eq. 21 of
/// https://arxiv.org/abs/2309.00071.
double yarn_scale(double factor, double mscale) {
  return factor <= 1.0 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

void read_yarn(const Source& from, RopeConfig& out) {
  const JsonFields& settings = from.settings;
  out.kind = RopeConfig::Kind::yarn;
  out.original_max_position_embeddings = from.original();
  out.factor = settings.is_null("factor") ? from.stretch(out.original_max_position_embeddings)
                                          : settings.number("factor", kMinFactor, kMaxFactor);
  // A zero counts as absent, as it does in Python.
  const auto nonzero = [&](std::string_view key, double missing) {
    const double value = settings.optional_number(key, 0.0, kMaxFactor).value_or(0.0);
    return value == 0.0 ? missing : value;
  };
  out.beta_fast = nonzero("beta_fast", 32.0);
  out.beta_slow = nonzero("beta_slow", 1.0);
  out.truncate = read_flag(settings, "truncate", true);
  const double mscale = nonzero("mscale", 0.0);
  const double mscale_all = nonzero("mscale_all_dim", 0.0);
  const double scale = mscale != 0.0 && mscale_all != 0.0
                           ? yarn_scale(out.factor, mscale) / yarn_scale(out.factor, mscale_all)
                           : yarn_scale(out.factor, 1.0);
  out.attention_factor =
      settings.optional_number("attention_factor", 0.0, kMaxFactor).value_or(scale);
}

std::vector<double> read_factors(const Source& from, std::string_view key) {
  std::vector<double> factors = from.settings.numbers(key, kMinFactor, kMaxFactor);
  if (static_cast<int64_t>(factors.size()) == from.model.rotary_dim / 2) return factors;
  fail({.what = "there is not one factor for each pair of values that rotates",
        .where = from.settings.place(key),
        .expected = std::to_string(from.model.rotary_dim / 2),
        .found = std::to_string(factors.size())});
}

void read_longrope(const Source& from, RopeConfig& out) {
  out.kind = RopeConfig::Kind::longrope;
  out.original_max_position_embeddings = from.original();
  out.short_factor = read_factors(from, "short_factor");
  out.long_factor = read_factors(from, "long_factor");
  out.factor = from.settings.optional_number("factor", kMinFactor, kMaxFactor)
                   .value_or(from.stretch(out.original_max_position_embeddings));
  // Section 3.3 of https://arxiv.org/abs/2402.13753. A length of 1 has no logarithm to divide by.
  const double length = std::log(static_cast<double>(out.original_max_position_embeddings));
  const double scale =
      out.factor <= 1.0 || length == 0.0 ? 1.0 : std::sqrt(1.0 + std::log(out.factor) / length);
  out.attention_factor =
      from.settings.optional_number("attention_factor", 0.0, kMaxFactor).value_or(scale);
}

void read_linear(const Source& from, RopeConfig& out) {
  out.kind = RopeConfig::Kind::linear;
  out.factor = from.settings.number("factor", kMinFactor, kMaxFactor);
}

void read_dynamic(const Source& from, RopeConfig& out) {
  out.kind = RopeConfig::Kind::dynamic;
  out.factor = from.settings.number("factor", kMinFactor, kMaxFactor);
  out.original_max_position_embeddings = from.model.max_position_embeddings;
}

void read_standard(const Source& /*from*/, RopeConfig& /*out*/) {}

struct RopeType {
  std::string_view name;
  void (*read)(const Source& from, RopeConfig& out);
  bool phi3;  ///< whether Phi-3 has it
};

constexpr std::array kTypes{
    RopeType{"default", read_standard, true}, RopeType{"linear", read_linear, false},
    RopeType{"dynamic", read_dynamic, false}, RopeType{"llama3", read_llama3, false},
    RopeType{"yarn", read_yarn, false},       RopeType{"longrope", read_longrope, true}};

const RopeType& find_type(const Source& from) {
  const std::string_view key = from.settings.find("rope_type") != nullptr ? "rope_type" : "type";
  std::string name = from.settings.optional_string(key).value_or("default");
  if (from.rules.longrope_only && (name == "su" || name == "yarn")) name = "longrope";
  std::string known;
  for (const RopeType& type : kTypes) {
    if (from.rules.longrope_only && !type.phi3) continue;
    if (type.name == name) return type;
    known += (known.empty() ? "" : ", ") + std::string(type.name);
  }
  fail({.what = "this kind of rotary position embedding is not supported",
        .where = from.settings.place(key),
        .expected = known,
        .found = '"' + printable(name, 40) + '"'});
}

RopeConfig read_settings(const Source& from) {
  RopeConfig out;
  out.theta =
      from.settings.optional_number("rope_theta", 1.0, kMaxTheta).value_or(from.rules.theta);
  find_type(from).read(from, out);
  return out;
}

void refuse_partial(const JsonFields& fields) {
  if (fields.optional_number(kPartial, 0.0, 1.0).value_or(1.0) == 1.0) return;
  fail({.what = "partial rotary embeddings are not supported for this model type",
        .where = fields.place(kPartial),
        .expected = "1.0",
        .found = describe(*fields.find(kPartial))});
}

/// The first values of each head, which rotate.
int64_t read_rotary_dim(const JsonFields& settings, const JsonFields& config,
                        const RopeRules& rules, int64_t head_dim) {
  const bool inside = settings.find(kPartial) != nullptr;
  const JsonFields& source = inside ? settings : config;
  if (!rules.partial_rotary_factor) {
    refuse_partial(settings);
    refuse_partial(config);
  }
  const double share = source.optional_number(kPartial, 0.0, 1.0)
                           .value_or(rules.partial_rotary_factor.value_or(1.0));
  const auto rotary = static_cast<int64_t>(static_cast<double>(head_dim) * share);
  if (rotary >= 2 && rotary % 2 == 0) return rotary;
  fail({.what = "rotary embeddings need an even number of values that rotate",
        .where = source.place(kPartial),
        .expected = "an even share of head_dim = " + std::to_string(head_dim),
        .found = std::to_string(rotary)});
}

void refuse_layer_settings(const JsonFields& settings) {
  for (const char* key : {"full_attention", "sliding_attention"}) {
    if (settings.find(key) == nullptr) continue;
    fail({.what = "rotary settings that differ by layer are not supported for this model type",
          .where = settings.place(key)});
  }
}

}  // namespace

RopeConfig read_rope_settings(const JsonFields& settings, const JsonFields& config,
                              const RopeRules& rules, const ModelConfig& model) {
  refuse_partial(settings);
  return read_settings({settings, config, rules, model});
}

void read_rope(const JsonFields& config, const RopeRules& rules, ModelConfig& out) {
  const nlohmann::json* scaling = config.find("rope_scaling");
  const bool older = scaling != nullptr && !scaling->empty();
  const std::string_view key = older ? "rope_scaling" : "rope_parameters";
  const nlohmann::json nothing = nlohmann::json::object();
  const nlohmann::json* object = older ? scaling : config.find(key);
  const JsonFields settings(object == nullptr ? nothing : *object, config.place(key));
  refuse_layer_settings(settings);
  out.rotary_dim = read_rotary_dim(settings, config, rules, out.head_dim);
  RopeRules here = rules;
  here.theta = config.optional_number("rope_theta", 1.0, kMaxTheta).value_or(rules.theta);
  out.rope = read_settings({settings, config, here, out});
}

}  // namespace lathe
