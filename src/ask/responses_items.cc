#include "ask/responses_items.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "text/chat/media.h"

namespace pando::ask {
namespace {

using ItemFields = std::initializer_list<std::string_view>;

void need_text(Fields& fields, const char* name, std::string& out) {
  fields.text(name, out);
  if (!fields.has(name)) fields.refuse(name, "a string");
}

Result<std::string> text_of_part(const Json& part) {
  if (!part.is_object())
    return invalid_argument("a part of a content is {}, expected an object", found_text(part));
  if (Status status = refuse_media(part, "a content"); !status) return status.error();
  Fields fields(part);
  fields.only(ItemFields{"type", "text", "refusal", "annotations", "logprobs",
                         "prompt_cache_breakpoint", "cache_control"});
  const std::string type = text_member(part, "type");
  constexpr std::string_view kTexts[] = {"input_text",   "output_text",    "text",
                                         "summary_text", "reasoning_text", "refusal"};
  if (std::ranges::find(kTexts, type) == std::end(kTexts))
    fields.refuse("type", "\"input_text\" or \"output_text\"");
  std::string text;
  need_text(fields, type == "refusal" ? "refusal" : "text", text);
  if (!fields.status()) return fields.status().error();
  return text;
}

// The texts of a content, joined: a string or a list of parts.
std::string text_of_content(Fields& fields, const char* name) {
  constexpr const char* kExpected = "a string or a list of parts";
  std::string text;
  if (!fields.has(name)) return fields.refuse(name, kExpected), text;
  const Json& content = fields[name];
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) return fields.fail(name, content, kExpected), text;
  for (size_t i = 0; i < content.size(); ++i) {
    const Result<std::string> part = text_of_part(content[i]);
    if (!part) return fields.fail(in_part(place_in(name, i), part.error())), text;
    text += *part;
  }
  return text;
}

}  // namespace

std::string text_member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

ItemMessages::ItemMessages(ChatDraft& draft) : draft_(draft) {
  messages() = Json::array();
  draft_.set_origin("messages", "input");
}

void ItemMessages::add_instructions(const std::string& text) {
  add_message({{"role", "system"}, {"content", text}}, "instructions");
}

Status ItemMessages::add(const Json& item, const std::string& type, const std::string& origin) {
  Fields fields(item);
  std::string ignored;
  for (const char* name : {"id", "status"}) fields.text(name, ignored);
  if (type == "message") {
    add_text(fields, origin);
  } else if (type == "function_call") {
    add_call(fields, origin);
  } else if (type == "function_call_output") {
    add_output(fields, origin);
  } else {
    add_reasoning(fields, origin);
  }
  return fields.status() ? Status() : in_part(origin, fields.status().error());
}

std::string ItemMessages::last_place() { return place_in("messages", messages().size() - 1); }

void ItemMessages::add_message(Json message, const std::string& origin) {
  messages().push_back(std::move(message));
  draft_.set_origin(last_place(), origin);
  assistant_ = false;
}

Json& ItemMessages::assistant(ItemFields later, const std::string& origin) {
  const auto has = [&](std::string_view name) { return messages().back().contains(name); };
  if (!assistant_ || std::ranges::any_of(later, has)) {
    add_message({{"role", "assistant"}}, origin);
    assistant_ = true;
  }
  return messages().back();
}

void ItemMessages::add_text(Fields& item, const std::string& origin) {
  item.only(ItemFields{"type", "role", "content", "id", "status", "phase"});
  constexpr std::string_view kRoles[] = {"user", "assistant", "system", "developer"};
  std::string role;
  need_text(item, "role", role);
  if (std::ranges::find(kRoles, role) == std::end(kRoles))
    item.refuse("role", one_of_these(kRoles));
  std::string text = text_of_content(item, "content");
  if (role != "assistant")
    return add_message({{"role", role}, {"content", std::move(text)}}, origin);
  assistant({"content", "tool_calls"}, origin)["content"] = std::move(text);
  draft_.set_origin(last_place() + ".content", origin + ".content");
}

void ItemMessages::add_call(Fields& item, const std::string& origin) {
  item.only(
      ItemFields{"type", "id", "call_id", "name", "arguments", "status", "namespace", "caller"});
  std::string id, name, arguments;
  need_text(item, "call_id", id);
  need_text(item, "name", name);
  need_text(item, "arguments", arguments);
  Json& message = assistant({}, origin);
  if (!message.contains("tool_calls")) message["tool_calls"] = Json::array();
  const std::string place = place_in(last_place() + ".tool_calls", message["tool_calls"].size());
  draft_.set_origin(place, origin);
  draft_.set_origin(place + ".function", origin);
  message["tool_calls"].push_back(
      {{"id", std::move(id)},
       {"type", "function"},
       {"function", {{"name", std::move(name)}, {"arguments", std::move(arguments)}}}});
}

void ItemMessages::add_output(Fields& item, const std::string& origin) {
  item.only(ItemFields{"type", "id", "call_id", "output", "status"});
  std::string id;
  need_text(item, "call_id", id);
  std::string text = text_of_content(item, "output");
  add_message({{"role", "tool"}, {"tool_call_id", std::move(id)}, {"content", std::move(text)}},
              origin);
  draft_.set_origin(last_place() + ".content", origin + ".output");
}

// Its content, or else its summary. Other servers encrypt it, and then it has neither.
void ItemMessages::add_reasoning(Fields& item, const std::string& origin) {
  item.only(ItemFields{"type", "id", "summary", "content", "encrypted_content", "status"});
  std::string text;
  for (const char* name : {"content", "summary"})
    if (text.empty() && item.has(name)) text = text_of_content(item, name);
  if (text.empty()) return;
  Json& all = assistant({"content", "tool_calls"}, origin)["reasoning_content"];
  if (all.is_null()) all = "";
  all.get_ref<std::string&>() += text;
}

}  // namespace pando::ask
