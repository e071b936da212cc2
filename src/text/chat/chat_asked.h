// Shared by the sources of ChatTemplate: a conversation as a template's variables.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "text/chat/chat_template.h"
#include "text/chat/jinja_text.h"

namespace pando {

struct ChatTemplate::Place {
  size_t message;
  std::optional<size_t> part;  // index in a content that is a list
};

struct ChatTemplate::Asked {
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  nlohmann::ordered_json tools, documents, kwargs;

  std::string& text(const Place& place) {
    nlohmann::ordered_json& content = messages[place.message]["content"];
    return (place.part ? content[*place.part]["text"] : content).get_ref<std::string&>();
  }
  std::string_view stripped(const Place& place) const {
    const nlohmann::ordered_json& content = messages[place.message]["content"];
    const auto& text = place.part ? content[*place.part]["text"] : content;
    return jinja::strip_space(text.get_ref<const std::string&>(), jinja::Side::kBoth);
  }
};

inline bool is_text_part(const nlohmann::ordered_json& part) {
  return part.is_object() && part.contains("type") && is_text(part["type"], "text") &&
         part.contains("text") && part["text"].is_string();
}

inline nlohmann::ordered_json text_in_parts(std::string text) {
  nlohmann::ordered_json parts = nlohmann::ordered_json::array();
  parts.push_back({{"type", "text"}, {"text", std::move(text)}});
  return parts;
}

inline std::string joined_text(const nlohmann::ordered_json& parts) {
  std::string text;
  for (const nlohmann::ordered_json& part : parts)
    text += part["text"].get_ref<const std::string&>();
  return text;
}

// The text of a message: its content, or the last text of its parts. Null if it has none.
nlohmann::ordered_json* last_text(nlohmann::ordered_json& message);

}  // namespace pando
