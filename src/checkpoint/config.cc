#include "checkpoint/config.h"

#include <string>

#include "checkpoint/families/family.h"
#include "checkpoint/families/fields.h"
#include "support/error.h"
#include "support/json.h"

namespace lathe {
namespace {

[[noreturn]] void refuse_family(const JsonFields& fields, const std::string& model_type) {
  std::string known;
  for (const Family& family : families()) known += std::string(family.model_type) + ", ";
  fail({.what = "this model type is not supported",
        .where = fields.place("model_type"),
        .expected = known + "gemma3",
        .found = '"' + printable(model_type, 60) + '"'});
}

void refuse_quantized(const JsonFields& fields) {
  const nlohmann::json* quantization = fields.find("quantization_config");
  if (quantization == nullptr) return;
  const bool named = quantization->is_object() && quantization->contains("quant_method");
  fail({.what = "the checkpoint is quantized already",
        .where = fields.place("quantization_config"),
        .found = describe(named ? quantization->at("quant_method") : *quantization),
        .advice = "use the original float checkpoint or a GGUF file of the model"});
}

/// Families that do not read `layer_types` may state them all the same, as long as they are right.
void check_layer_types(const JsonFields& fields, const ModelConfig& config) {
  ModelConfig stated = config;
  read_layer_types(fields, stated);
  for (size_t i = 0; i < stated.layer_configs.size(); ++i) {
    if (stated.layer_configs[i].sliding == config.layer_configs[i].sliding) continue;
    fail({.what = "layer types that this model type does not have",
          .where = fields.place("layer_types"),
          .expected = config.layer_configs[i].sliding ? "sliding_attention" : "full_attention",
          .found = describe(fields.list("layer_types")[i])});
  }
}

/// Gemma 3 with a vision tower keeps the config of its text model, with no defaults stated, in a
/// config of its own.
ModelConfig parse_text_config(const JsonFields& fields, const std::string& where) {
  const std::string text_where = where + ": text_config";
  nlohmann::json text = fields.object("text_config");
  const JsonFields text_fields(text, text_where);
  const std::string family = text_fields.optional_string("model_type").value_or("gemma3_text");
  if (family != "gemma3_text") refuse_family(text_fields, family);
  text["model_type"] = family;
  if (const auto tied = fields.optional_boolean("tie_word_embeddings")) {
    text["tie_word_embeddings"] = *tied;
  }
  return parse_model_config(text, text_where);
}

}  // namespace

ModelConfig parse_model_config(const nlohmann::json& config, const std::string& where) {
  const JsonFields fields(config, where);
  ModelConfig out;
  out.model_type = fields.string("model_type");
  refuse_quantized(fields);
  if (out.model_type == "gemma3") return parse_text_config(fields, where);
  const Family* family = find_family(out.model_type);
  if (family == nullptr) refuse_family(fields, out.model_type);
  family->read(fields, out);
  check_layer_types(fields, out);
  return out;
}

}  // namespace lathe
