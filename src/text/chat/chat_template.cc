#include "text/chat/chat_template.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <tuple>

#include "base/errors.h"
#include "base/json.h"
#include "base/json_value.h"
#include "text/chat/chat_asked.h"
#include "text/chat/chat_files.h"
#include "text/chat/jinja_json.h"
#include "text/chat/jinja_text.h"
#include "text/chat/media.h"
#include "text/chat/tool_calls.h"
#include "text/chat/written_tools.h"
#include "text/json_file.h"
#include "text/utf8.h"

namespace pando {
namespace {

using Ordered = nlohmann::ordered_json;

// Names under which templates ask whether to think.
constexpr const char* kThinkingNames[] = {"enable_thinking", "thinking"};

LocalTime today() {
  const time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  struct tm local = {};
  localtime_r(&now, &local);
  return {.year = local.tm_year + 1900, .month = local.tm_mon + 1, .day = local.tm_mday};
}

bool is_utf8(const Ordered& tree) {
  for (const auto& [name, value] : tree.items())
    if (find_invalid_utf8(name) || (value.is_structured() && !is_utf8(value)) ||
        (value.is_string() && find_invalid_utf8(value.get_ref<const std::string&>())))
      return false;
  return true;
}

Result<Ordered> option_tree(const JsonValue& value, const char* name, bool wants_array) {
  if (value.is_null()) return Ordered();
  if (Status status = check(value); !status) return blame(name, status.error());
  Ordered tree = tree_of(value);
  if (wants_array ? !tree.is_array() : !tree.is_object())
    return invalid_field(name, "is {}, expected {}", found_text(tree),
                         wants_array ? "a list" : "an object");
  if (!is_utf8(tree)) return invalid_field(name, "is not valid UTF-8");
  return tree;
}

// The field that asked for thinking. A request's `enable_thinking` sets options.thinking too.
std::string thinking_field(const ChatOptions& options) {
  const JsonValue::Object* kwargs = options.template_kwargs.as_object();
  const bool is_kwarg = kwargs != nullptr && std::ranges::any_of(*kwargs, [](const auto& member) {
                          return member.first == "enable_thinking";
                        });
  return is_kwarg ? "chat_template_kwargs.enable_thinking" : "thinking";
}

// A template would write a mark for an image, and the model would see nothing behind it.
Status check_parts(const Ordered& message, size_t index) {
  if (!message.is_object() || !message.contains("content")) return {};
  const Ordered& content = message["content"];
  for (size_t i = 0; content.is_array() && i < content.size(); ++i)
    if (Status status = refuse_media(content[i], fmt::format("message {}", index)); !status)
      return in_part(fmt::format("messages[{}].content[{}]", index, i), status.error());
  return {};
}

// Appends a member whose name no other has, in constant time.
void add_member(Ordered& object, const std::string& name, Ordered value) {
  object.get_ref<Ordered::object_t&>().emplace_back(name, std::move(value));
}

// Mark behind the text that an answer continues. The space shows whether the template strips texts.
constexpr std::string_view kGoesOn = "pando-goes-on-here ";

// Puts the mark behind the message's text; returns that text, or nothing if there is none.
std::optional<std::string> mark_end(Ordered& message) {
  Ordered* text = last_text(message);
  if (text == nullptr) return std::nullopt;
  std::string found = text->get<std::string>();
  *text = found + std::string(kGoesOn);
  return found;
}

// The prompt up to the mark.
Result<std::string> cut_at_mark(std::string prompt, const std::string& final_text) {
  const std::string_view mark = kGoesOn.substr(0, kGoesOn.size() - 1);
  const size_t at = prompt.rfind(mark);
  if (at == prompt.npos ||
      prompt.find(jinja::strip_space(final_text, jinja::Side::kBoth)) == prompt.npos)
    return blame(
        "continue_final_message",
        invalid_argument(
            "the chat template changes the last message, so an answer cannot continue it"));
  const bool strips = prompt.compare(at, kGoesOn.size(), kGoesOn) != 0;
  prompt.resize(at);
  return strips ? std::string(jinja::strip_space(prompt, jinja::Side::kRight)) : prompt;
}

}  // namespace

Result<ChatTemplate> ChatTemplate::from_text(std::string_view text, std::string_view source,
                                             NamedTokens tokens) {
  Result<jinja::Template> compiled = jinja::Template::compile(text);
  if (!compiled)
    return in_file(source, unsupported("chat template, {}", compiled.error().message()));
  ChatTemplate out;
  out.templates_.push_back({"default", std::string(source), std::move(compiled), std::string(text),
                            text.find("developer") != text.npos});
  out.tokens_ = std::move(tokens);
  out.loaded_ = today();
  for (Named& named : out.templates_) out.find_out_what_it_takes(named);
  return out;
}

Result<ChatTemplate> ChatTemplate::load(const ModelPath& path, const Tokenizer& tokenizer,
                                        const std::string& choice) {
  Result<NamedTokens> tokens = find_named_tokens(path, tokenizer);
  if (!tokens) return tokens.error();
  std::error_code failure;
  if (!choice.empty() && std::filesystem::is_regular_file(choice, failure)) {
    const Result<std::string> text = read_text_file(path.at(choice));
    if (!text) return text.error();
    return from_text(*text, fmt::format("'{}'", choice), std::move(*tokens));
  }
  Result<std::vector<TemplateText>> found = find_chat_templates(path);
  if (!found) return found.error();
  std::vector<std::string_view> names;
  for (const TemplateText& one : *found) names.push_back(one.name);
  if (!choice.empty()) {
    const auto named = std::find_if(found->begin(), found->end(),
                                    [&](const TemplateText& one) { return one.name == choice; });
    if (named == found->end())
      return invalid_argument("'{}' is neither a file nor a chat template of the model, {}", choice,
                              names.empty() ? "which has none" : "expected " + one_of_these(names));
    return from_text(named->text, named->source, std::move(*tokens));
  }
  if (found->empty())
    return unsupported(
        "'{}' has no chat template, expected one there or the option 'chat_template'",
        path.string());
  std::stable_sort(found->begin(), found->end(), [](const TemplateText& a, const TemplateText& b) {
    return (a.name == "default") > (b.name == "default");
  });
  ChatTemplate out;
  for (TemplateText& one : *found) {
    Result<jinja::Template> compiled = jinja::Template::compile(one.text);
    if (!compiled && (one.name == "default" || found->size() == 1))
      return in_file(one.source, unsupported("chat template, {}", compiled.error().message()));
    const bool knows_developer = one.text.find("developer") != one.text.npos;
    out.templates_.push_back({std::move(one.name), std::move(one.source), std::move(compiled),
                              std::move(one.text), knows_developer});
  }
  out.tokens_ = std::move(*tokens);
  out.loaded_ = today();
  for (Named& named : out.templates_) out.find_out_what_it_takes(named);
  return out;
}

// Prepares a message as `transformers` does: drops null fields, and gives reasoning the names that
// templates read.
Ordered ChatTemplate::prepared(const Named& named, const ChatMessage& message,
                               Ordered fields) const {
  Ordered out = Ordered::object();
  if (!fields.contains("role")) out["role"] = message.role;
  if (!fields.contains("content")) out["content"] = message.content;
  for (auto& [name, value] : fields.items())
    if (!value.is_null()) add_member(out, name, std::move(value));
  if (named.needs_content && !out.contains("content") && out.contains("tool_calls"))
    add_member(out, "content", "");
  if (named.needs_null && !out.contains("content") && out.contains("tool_calls"))
    add_member(out, "content", nullptr);
  if (is_text(out["role"], "developer") && !named.knows_developer) out["role"] = "system";
  if (out.contains("content") && out["content"].is_array() && !named.takes_parts &&
      std::all_of(out["content"].begin(), out["content"].end(), is_text_part))
    out["content"] = joined_text(out["content"]);
  if (out.contains("content") && out["content"].is_string() && named.needs_parts)
    out["content"] = text_in_parts(out["content"].get<std::string>());
  for (const char* name : {"reasoning_content", "thinking", "reasoning"}) {
    if (!out.contains(name)) continue;
    const Ordered reasoning = out[name];
    Ordered aliased = {{"thinking", out.value("thinking", reasoning)}};
    for (auto& [key, value] : out.items())
      if (key != "thinking") add_member(aliased, key, std::move(value));
    aliased["reasoning_content"] = reasoning;
    return aliased;
  }
  return out;
}

bool ChatTemplate::reads_clock() const {
  return std::any_of(templates_.begin(), templates_.end(), [](const Named& named) {
    return named.compiled && named.compiled->reads("strftime_now");
  });
}

bool ChatTemplate::mentions(std::string_view text) const {
  return std::any_of(templates_.begin(), templates_.end(),
                     [&](const Named& named) { return named.text.find(text) != named.text.npos; });
}

std::string ChatTemplate::day() const {
  if (!reads_clock()) return {};
  return fmt::format("{:04}-{:02}-{:02}", loaded_.year, loaded_.month, loaded_.day);
}

Result<const ChatTemplate::Named*> ChatTemplate::chosen(const ChatOptions& options) const {
  const auto find = [&](std::string_view name) {
    const auto found = std::find_if(templates_.begin(), templates_.end(),
                                    [&](const Named& named) { return named.name == name; });
    return found == templates_.end() ? nullptr : &*found;
  };
  const Named* named = templates_.size() == 1     ? &templates_.front()
                       : !options.tools.is_null() ? find("tool_use")
                                                  : nullptr;
  if (named == nullptr) named = find("default");
  std::vector<std::string_view> names;
  for (const Named& one : templates_) names.push_back(one.name);
  if (named == nullptr)
    return unsupported(
        "the model has several chat templates and none named 'default', expected the option "
        "'chat_template' to name one: {}",
        one_of_these(names));
  if (!named->compiled)
    return unsupported("chat template '{}', {}", named->name, named->compiled.error().message());
  return named;
}

Result<std::string> ChatTemplate::render_by(const Named& named, const Asked& asked,
                                            const ChatOptions& options) const {
  jinja::Variables variables;
  try {
    for (const auto& [name, value] : asked.kwargs.items())
      variables.emplace_back(name, jinja::value_of(value));
    variables.emplace_back("messages", jinja::value_of(asked.messages));
    variables.emplace_back("tools", jinja::value_of(asked.tools));
    variables.emplace_back("documents", jinja::value_of(asked.documents));
  } catch (const jinja::JinjaError& error) {
    return invalid_argument("the conversation: {}", error.message);
  }
  variables.emplace_back("add_generation_prompt",
                         jinja::Value::boolean(options.add_generation_prompt));
  for (const char* name : {"enable_thinking", "thinking"})
    variables.emplace_back(name, jinja::Value::boolean(options.thinking));
  for (const auto& [name, text] : tokens_) variables.emplace_back(name, jinja::make_string(text));
  Result<std::string> text = named.compiled->render(variables, options.now.value_or(loaded_));
  if (!text) return invalid_argument("chat template, {}", text.error().message());
  return text;
}

bool ChatTemplate::has_thinking_switch() const {
  return std::any_of(templates_.begin(), templates_.end(),
                     [](const Named& named) { return named.compiled && switches_thinking(named); });
}

bool ChatTemplate::reads_tools() const {
  return std::any_of(templates_.begin(), templates_.end(), [](const Named& named) {
    return named.compiled && named.compiled->reads("tools");
  });
}

bool ChatTemplate::switches_thinking(const Named& named) {
  return std::any_of(std::begin(kThinkingNames), std::end(kThinkingNames),
                     [&](const char* name) { return named.compiled->reads(name); });
}

Status ChatTemplate::check_thinking(const Named& named, const ChatOptions& options) {
  if (!options.thinking || switches_thinking(named)) return {};
  const std::string field = thinking_field(options);
  return blame(field,
               invalid_argument("'{}' is true, but the chat template has no switch for it", field));
}

Result<std::string> ChatTemplate::render(std::span<const ChatMessage> messages,
                                         const ChatOptions& options) const {
  if (messages.empty()) return invalid_argument("the conversation has no messages");
  const Result<const Named*> named = chosen(options);
  if (!named) return named.error();
  if (Status status = check_thinking(**named, options); !status) return status.error();
  Asked asked;
  for (const ChatMessage& message : messages) {
    Result<Ordered> fields = option_tree(message.fields, "messages", /*wants_array=*/false);
    if (!fields) return fields.error();
    if (Status status = check_parts(*fields, asked.messages.size()); !status) return status.error();
    if (pando::find_invalid_utf8(message.content) || find_invalid_utf8(message.role))
      return invalid_argument("a message is not valid UTF-8");
    asked.messages.push_back(
        prepared(**named, message, fields->is_null() ? Ordered::object() : std::move(*fields)));
    Status settled = settle_arguments(asked.messages.back(), (*named)->takes_arguments);
    if (!settled) return in_part(place_in("messages", asked.messages.size() - 1), settled.error());
  }
  const std::tuple<const JsonValue&, const char*, bool, Ordered&> kOptions[] = {
      {options.tools, "tools", true, asked.tools},
      {options.documents, "documents", true, asked.documents},
      {options.template_kwargs, "chat_template_kwargs", false, asked.kwargs}};
  for (const auto& [value, name, wants_array, out] : kOptions) {
    Result<Ordered> tree = option_tree(value, name, wants_array);
    if (!tree) return tree.error();
    out = std::move(*tree);
  }
  if (!asked.documents.empty() && !(*named)->compiled->reads("documents"))
    return blame("documents",
                 invalid_argument("'documents' is given, but the chat template never reads it"));
  if (!asked.tools.empty() && !(*named)->compiled->reads("tools"))
    write_tools(asked.messages, asked.tools);
  std::optional<std::string> final_text;
  if (options.continue_final_message) {
    if (options.add_generation_prompt)
      return blame("continue_final_message",
                   invalid_argument(
                       "'continue_final_message' cannot be combined with 'add_generation_prompt'"));
    final_text = mark_end(asked.messages.back());
    if (!final_text)
      return blame("continue_final_message",
                   invalid_argument(
                       "the last message has no text, expected a text for the answer to continue"));
  }
  Result<std::string> text = render_by(**named, asked, options);
  if (!text) return text;
  Status kept = check_lost(**named, asked, options, *text);
  if (!kept && join_parts(asked)) {
    text = render_by(**named, asked, options);
    if (!text) return text;
    kept = check_lost(**named, asked, options, *text);
  }
  if (!kept) return kept.error();
  return final_text ? cut_at_mark(std::move(*text), *final_text) : text;
}

}  // namespace pando
