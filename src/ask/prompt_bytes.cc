#include "ask/prompt_bytes.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>

namespace pando::ask {
namespace {

// Members that models see, in this order. A body has some of them.
constexpr std::string_view kBeforeMessages[] = {"model",    "instructions",         "system",
                                                "template", "chat_template_kwargs", "instruction"};
constexpr std::string_view kAfterSystem[] = {
    "reasoning_effort", "reasoning",    "thinking", "tools", "functions",
    "context",          "query",        "prompt",   "input", "inputs",
    "input_extra",      "input_prefix", "tokens",   "text_1"};
constexpr std::string_view kAfterMessages[] = {"question",  "questions",   "text_2",
                                               "documents", "texts",       "continuations",
                                               "suffix",    "input_suffix"};
constexpr std::string_view kSystemRoles[] = {"system", "developer"};
// A message or an item has these before its other members.
constexpr std::string_view kFirstOfMessage[] = {"role", "type", "content"};
constexpr std::string_view kLengthFields[] = {
    "max_completion_tokens", "max_output_tokens", "max_tokens", "n_predict",
    "max_new_tokens",        "num_predict"};
// Objects that hold such a field beside the body.
constexpr std::string_view kOptionObjects[] = {"options", "parameters"};

// The routes that generate, with their default limit.
struct GeneratingPath {
  std::string_view path;
  std::optional<int> max_tokens = std::nullopt;
};
constexpr GeneratingPath kGenerating[] = {{"/v1/completions", 16},
                                          {"/v1/answers", 128},
                                          {"/v1/chat/completions"},
                                          {"/v1/responses"},
                                          {"/v1/messages"},
                                          {"/v1/fim/completions"},
                                          {"/generate"},
                                          {"/generate_stream"},
                                          {"/"},
                                          {"/v2/chat"},
                                          {"/api/chat"},
                                          {"/api/generate"},
                                          {"/completion"},
                                          {"/infill"}};

const Json* member(const Json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text_of(const Json& object, std::string_view name) {
  const Json* value = member(object, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

bool flag_of(const Json& object, std::string_view name, bool fallback) {
  const Json* value = member(object, name);
  return value != nullptr && value->is_boolean() ? value->get<bool>() : fallback;
}

std::optional<int> count_of(const Json& object, std::string_view name) {
  const Json* value = member(object, name);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const double most = std::numeric_limits<int>::max();
  return static_cast<int>(std::clamp(value->get<double>(), 0.0, most));
}

double seconds_of(const Json& object, std::string_view name) {
  const Json* value = member(object, name);
  return value != nullptr && value->is_number() ? 1e-3 * std::max(value->get<double>(), 0.0) : 0;
}

// Number of elements of a list of such things; any other value counts as one.
size_t n_of(const Json& object, std::string_view name, bool (Json::*is_thing)() const noexcept) {
  const Json* value = member(object, name);
  if (value == nullptr || !value->is_array() || value->empty()) return 1;
  return ((*value)[0].*is_thing)() ? value->size() : 1;
}

class PromptBytes {
 public:
  explicit PromptBytes(FunctionRef<void(std::string_view)> add) : add_(add) {}

  size_t read(const Json& body) {
    add_members(body, kBeforeMessages);
    const Json* messages = member(body, "messages");
    const bool has_messages = messages != nullptr && messages->is_array() && !messages->empty();
    const bool has_system =
        has_messages &&
        std::ranges::find(kSystemRoles, text_of((*messages)[0], "role")) != std::end(kSystemRoles);
    if (has_system) add_value((*messages)[0]);
    add_members(body, kAfterSystem);
    for (size_t i = has_system ? 1 : 0; has_messages && i < messages->size(); ++i)
      add_value((*messages)[i]);
    add_members(body, kAfterMessages);
    return n_bytes_;
  }

 private:
  void add_bytes(std::string_view bytes) {
    n_bytes_ += bytes.size();
    add_(bytes);
  }

  void add_members(const Json& body, std::span<const std::string_view> names) {
    for (const std::string_view name : names)
      if (const Json* value = member(body, name)) {
        add_value(*value);
        add_bytes("\n");
      }
  }

  // Texts are added as they are, whole numbers (tokens) as four bytes.
  void add_value(const Json& value) {
    if (value.is_string()) return add_bytes(value.get_ref<const std::string&>());
    if (value.is_number_integer()) {
      const auto bits = static_cast<uint32_t>(value.get<int64_t>());
      std::array<char, 4> bytes{};
      for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(bits >> 8 * i);
      return add_bytes({bytes.data(), bytes.size()});
    }
    if (value.is_array()) {
      const bool is_tokens = !value.empty() && value[0].is_number();
      for (const Json& one : value) {
        add_value(one);
        if (!is_tokens) add_bytes("\n");
      }
      return;
    }
    if (!value.is_object()) return add_bytes(json_text(value));
    for (const std::string_view name : kFirstOfMessage)
      if (const Json* first = member(value, name)) {
        add_value(*first);
        add_bytes("\n");
      }
    for (const auto& [name, other] : value.items()) {
      if (std::ranges::find(kFirstOfMessage, name) != std::end(kFirstOfMessage)) continue;
      add_bytes(name);
      add_bytes("\n");
      add_value(other);
      add_bytes("\n");
    }
  }

  FunctionRef<void(std::string_view)> add_;
  size_t n_bytes_ = 0;
};

}  // namespace

PromptWork read_prompt_bytes(std::string_view path, const Json& body,
                             FunctionRef<void(std::string_view)> add) {
  PromptWork work{.n_bytes = PromptBytes(add).read(body)};
  const auto known = std::ranges::find(kGenerating, path, &GeneratingPath::path);
  const bool generates = known != std::end(kGenerating);
  if (generates) work.max_tokens = known->max_tokens;
  for (const std::string_view name : kLengthFields) {
    if (const std::optional<int> given = count_of(body, name); given && generates)
      work.max_tokens = given;
    for (const std::string_view object : kOptionObjects)
      if (const Json* options = member(body, object); options != nullptr && generates)
        if (const std::optional<int> given = count_of(*options, name)) work.max_tokens = given;
  }
  work.n_answers = 0;
  if (generates) {
    const size_t n = static_cast<size_t>(count_of(body, "n").value_or(1));
    const size_t n_prompts =
        std::max(n_of(body, "prompt", &Json::is_string), n_of(body, "prompt", &Json::is_array));
    const size_t n_questions = std::max(n_of(body, "questions", &Json::is_string),
                                        n_of(body, "questions", &Json::is_object));
    work.n_answers = std::max<size_t>(n, 1) * n_prompts * n_questions;
  }
  work.ttft_slo = seconds_of(body, "ttft_slo_ms");
  work.stream = flag_of(body, "stream", false);
  work.cached = flag_of(body, "cache", flag_of(body, "cache_prompt", true));
  work.previous_response_id = text_of(body, "previous_response_id");
  return work;
}

}  // namespace pando::ask
