#include "text/chat/written_tools.h"

#include <algorithm>
#include <string>

#include "base/json.h"

namespace pando {
namespace {

// A tool or a call, or the function in it.
const Json& function_of(const Json& json) {
  return json.is_object() && json.contains("function") ? json["function"] : json;
}

Json member(const Json& json, const char* name) {
  return json.is_object() && json.contains(name) ? json[name] : Json();
}

std::string description(const Json& tools) {
  std::string text = "You can call these functions:\n";
  for (const Json& tool : tools) text += json_text(function_of(tool)) + "\n";
  return text +
         "To call a function, answer only with a JSON object of its name and its arguments:\n"
         R"({"name": "...", "arguments": {...}})";
}

// The text goes before or behind the content of a message, which is a text or a list of parts.
void add_text(Json& message, const std::string& text, bool in_front) {
  Json& content = message["content"];
  if (content.is_array())
    content.insert(in_front ? content.begin() : content.end(),
                   Json{{"type", "text"}, {"text", text}});
  else if (!content.is_string() || content.get_ref<const std::string&>().empty())
    content = text;
  else
    content = in_front ? text + "\n\n" + content.get<std::string>()
                       : content.get<std::string>() + "\n\n" + text;
}

void write_calls(Json& message) {
  const Json calls = message["tool_calls"];
  message.erase("tool_calls");
  for (const Json& call : calls) {
    Json arguments = member(function_of(call), "arguments");
    if (arguments.is_string())
      arguments = Json::parse(arguments.get<std::string>(), nullptr, /*allow_exceptions=*/false);
    add_text(message,
             json_text({{"name", member(function_of(call), "name")},
                        {"arguments", std::move(arguments)}}),
             /*in_front=*/false);
  }
}

}  // namespace

void write_tools(Json& messages, const Json& tools) {
  const auto has_role = [](const char* role) {
    return [role](const Json& message) { return member(message, "role") == role; };
  };
  for (Json& message : messages) {
    if (message.contains("tool_calls") && !message["tool_calls"].empty()) write_calls(message);
    if (!has_role("tool")(message)) continue;
    message["role"] = "user";
    message.erase("tool_call_id");
    add_text(message, "The function returned:", /*in_front=*/true);
  }
  auto to = std::ranges::find_if(messages, has_role("system"));
  const bool in_front = to == messages.end();
  if (in_front) to = std::ranges::find_if(messages, has_role("user"));
  if (to != messages.end()) add_text(*to, description(tools), in_front);
}

}  // namespace pando
