#include "ask/chat_fields.h"

#include <span>

#include "ask/call_fields.h"
#include "base/errors.h"
#include "base/json_value.h"
#include "text/chat/media.h"

namespace pando::ask {
namespace {

// Templates are known to read these of a message.
constexpr std::string_view kMessageFields[] = {
    "role", "content", "name", "tool_calls", "tool_call_id", "reasoning_content", "reasoning",
    "thinking", "tool_plan", "tools", "documents", "recipient", "type",
    // Answers have these, and come back as messages.
    "refusal", "annotations", "audio", "function_call"};
constexpr const char* kEmptyFields[] = {"refusal", "annotations", "audio", "function_call"};
constexpr const char* kTextFields[] = {"name",      "tool_call_id", "reasoning_content",
                                       "reasoning", "tool_plan",    "recipient"};
constexpr std::string_view kPartFields[] = {"type", "text"};
// As Fields::only, but it also allows the fields for caching.
void only_besides_caching(Fields& fields, std::span<const std::string_view> own) {
  std::vector<std::string_view> known(own.begin(), own.end());
  known.insert(known.end(), std::begin(kCachingFields), std::end(kCachingFields));
  fields.only(known);
}

// A content in parts, of which only texts are offered.
Status check_parts(const Json& parts, size_t index) {
  for (size_t i = 0; i < parts.size(); ++i) {
    const Json& json = parts[i];
    const std::string place = fmt::format("content[{}]", i);
    if (!json.is_object())
      return blame(place, invalid_argument("a part of message {} is {}, expected an object", index,
                                           found_text(json)));
    if (Status status = refuse_media(json, fmt::format("message {}", index)); !status)
      return in_part(place, status.error());
    Fields fields(json);
    std::string type, text;
    fields.text("type", type);
    if (type != "text")
      fields.fail(blame("type", invalid_argument("a part of message {} is of type '{}', expected "
                                                 "'text'",
                                                 index, type)));
    only_besides_caching(fields, kPartFields);
    fields.text("text", text);
    if (fields.status() && !fields.has("text"))
      fields.fail(blame("text", invalid_argument("a part of message {} has no 'text'", index)));
    if (!fields.status()) return in_part(place, fields.status().error());
  }
  return {};
}

// A call of a function as OpenAI's API has it, or with the fields of 'function' beside 'type'.
// Templates may read other fields instead.
Status check_call(const Json& call) {
  const auto wrong = [](const char* field, const Json* found, const char* expected) {
    return invalid_field(field, "is {}, expected {}",
                         found == nullptr ? "absent" : found_text(*found), expected);
  };
  const Fields fields(call);
  const Json *type = fields.find("type"), *function = fields.find("function");
  if (type != nullptr && !is_text(*type, "function")) return wrong("type", type, "\"function\"");
  if (function != nullptr && !function->is_object())
    return wrong("function", function, "an object with a 'name'");
  const bool is_flat = function == nullptr;
  const Json& named = is_flat ? call : *function;
  const auto name = named.find("name");
  if (name == named.end() && is_flat)
    return type == nullptr ? Status() : wrong("function", nullptr, "an object with a 'name'");
  if (name == named.end() || !name->is_string() || name->get_ref<const std::string&>().empty())
    return wrong(is_flat ? "name" : "function.name", name == named.end() ? nullptr : &*name,
                 "the name of a function");
  return {};
}

Status check_calls(const Json& calls, size_t index) {
  for (size_t i = 0; i < calls.size(); ++i) {
    if (!calls[i].is_object())
      return blame(place_in("tool_calls", i),
                   invalid_argument("a tool call of message {} is {}, expected an object", index,
                                    found_text(calls[i])));
    if (Status status = check_call(calls[i]); !status)
      return in_part(place_in("tool_calls", i), status.error());
  }
  return {};
}

JsonValue without_caching_in_parts(const Json& parts) {
  JsonValue::List list;
  for (const Json& part : parts) list.push_back(JsonValue::object(without_caching(part)));
  return JsonValue::list(std::move(list));
}

Status read_message(const Json& json, size_t index, ChatMessage& message) {
  if (!json.is_object())
    return invalid_argument("message {} is {}, expected an object", index, found_text(json));
  if (Status status = refuse_media(json, fmt::format("message {}", index)); !status) return status;
  Fields fields(json);
  only_besides_caching(fields, kMessageFields);
  fields.text("role", message.role);
  for (const char* name : kEmptyFields)
    if (fields.has(name) && fields[name] != Json::array())
      fields.fail(name, fields[name], "null or []");
  std::string ignored, type = "text";
  for (const char* name : kTextFields) fields.text(name, ignored);
  fields.text("type", type);  // lm-eval says so of every message
  if (type != "text" && type != "message")
    fields.fail("type", fields["type"], "\"text\" or no type");
  for (const char* name : {"tool_calls", "tools", "documents"})
    if (fields.has(name) && !fields[name].is_array()) fields.fail(name, fields[name], "a list");
  const auto need = [&](const char* name) {
    if (!fields.has(name))
      fields.fail(blame(name, invalid_argument("message {} has no '{}'", index, name)));
  };
  need("role");
  if (fields.status() && message.role.empty())
    fields.fail(blame("role", invalid_argument("the role of message {} is empty", index)));
  if (message.role != "assistant") need("content");
  if (!fields.status()) return fields.status();
  const bool has_parts = fields.has("content") && fields["content"].is_array();
  if (has_parts) {
    if (Status status = check_parts(fields["content"], index); !status) return status;
    for (const Json& part : fields["content"])
      message.content += part["text"].get_ref<const std::string&>();
  } else {
    fields.text("content", message.content);
  }
  if (fields.has("tool_calls"))
    if (Status status = check_calls(fields["tool_calls"], index); !status) return status;
  bool plain = !has_parts;
  for (const auto& [name, value] : json.items())
    plain = plain && (name == "role" || name == "content" || name == "type" || value.is_null() ||
                      is_of_caching(name));
  // Without a text and without a call it is an empty text.
  const bool calls = fields.has("tool_calls") && !fields["tool_calls"].empty();
  if (plain && !calls) return fields.status();
  JsonValue::Object others;
  for (const auto& [name, value] : json.items()) {
    if (name == "type" || is_of_caching(name)) continue;
    if (name != "content")
      others.emplace_back(name, json_value(value));
    else if (has_parts)  // a text may be cut yet
      others.emplace_back(name, without_caching_in_parts(value));
  }
  if (!fields.has("content") && calls) others.emplace_back("content", JsonValue());
  message.fields = JsonValue::object(std::move(others));
  return fields.status();
}

}  // namespace

Result<std::vector<ChatMessage>> read_messages(const Json& messages) {
  if (!messages.is_array() || messages.empty())
    return invalid_field("messages", "is {}, expected a non-empty list", found_text(messages));
  std::vector<ChatMessage> out(messages.size());
  size_t n_calls = 0;  // of the older form
  for (size_t i = 0; i < out.size(); ++i) {
    Status status;
    if (messages[i].is_object() && is_older_message(messages[i])) {
      const Result<Json> newer = newer_message(messages[i], n_calls);
      status = newer ? read_message(*newer, i, out[i]) : Status(newer.error());
    } else {
      status = read_message(messages[i], i, out[i]);
    }
    if (!status) return in_part(place_in("messages", i), status.error());
  }
  return out;
}

void read_chat_options(Fields& fields, ChatOptions& out, CallOptions& calling) {
  if (fields.has("documents")) {
    const Json& list = fields["documents"];
    if (!list.is_array()) return fields.fail("documents", list, "a list");
    for (size_t i = 0; i < list.size(); ++i)
      if (!list[i].is_object())
        return fields.fail(
            blame(place_in("documents", i),
                  invalid_argument("field 'documents' has {} in it, expected only objects",
                                   found_text(list[i]))));
    out.documents = json_value(list);
  }
  // An answer goes on with the last message instead of beginning one.
  fields.flag("continue_final_message", out.continue_final_message);
  if (out.continue_final_message) out.add_generation_prompt = false;
  fields.flag("add_generation_prompt", out.add_generation_prompt);
  read_tools(fields, out, calling);
  Json kwargs = Json::object();
  fields.object("chat_template_kwargs", kwargs);
  if (kwargs.empty()) return;
  Fields known(kwargs);
  known.flag("enable_thinking", out.thinking);
  fields.fail("chat_template_kwargs", known);
  out.template_kwargs = json_value(kwargs);
}

}  // namespace pando::ask
