#include "text/builtin_templates.h"

#include <array>

namespace lathe {
namespace {

struct BuiltinTemplate {
  std::string_view name;
  std::string_view source;
};

constexpr std::array<BuiltinTemplate, 3> kTemplates{{
    {"chatml",
     "{% for message in messages %}"
     "{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
     "{% endfor %}"
     "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"},
    // Gemma has no system turn; what it would say stands in front of the first question.
    {"gemma",
     "{{ bos_token }}"
     "{% set system = messages[0].content + '\\n\\n' if messages[0].role == 'system' else '' %}"
     "{% for message in messages if message.role != 'system' %}"
     "{{ '<start_of_turn>' + ('model' if message.role == 'assistant' else 'user') + '\\n' }}"
     "{{ (system if loop.first else '') + message.content | trim + '<end_of_turn>\\n' }}"
     "{% endfor %}"
     "{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}"},
    {"question",
     "{{ bos_token }}"
     "{% for message in messages %}"
     "{% if message.role == 'system' %}{{ message.content + '\\n\\n' }}"
     "{% elif message.role == 'user' %}{{ 'Q: ' + message.content | trim + '\\nA:' }}"
     "{% else %}{{ ' ' + message.content | trim + '\\n' }}"
     "{% endif %}"
     "{% endfor %}"},
}};

}  // namespace

std::optional<std::string_view> builtin_template(std::string_view name) {
  for (const BuiltinTemplate& item : kTemplates) {
    if (item.name == name) return item.source;
  }
  return std::nullopt;
}

std::string builtin_template_names() {
  std::string names;
  for (const BuiltinTemplate& item : kTemplates) {
    names += (names.empty() ? "" : ", ") + std::string(item.name);
  }
  return names;
}

}  // namespace lathe
