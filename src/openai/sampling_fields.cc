#include "openai/sampling_fields.h"

#include "base/errors.h"
#include "base/json.h"

namespace pando {
namespace {

// No known template writes a "name".
constexpr std::string_view kMessageFields[] = {
    "role", "content", "name", "refusal", "audio", "function_call", "tool_calls", "annotations"};
// Answers have these, and come back as messages.
constexpr const char* kEmptyFields[] = {"refusal", "annotations", "audio", "function_call",
                                        "tool_calls"};
constexpr std::string_view kPartFields[] = {"type", "text"};

// A content in parts, of which only texts are known.
Status read_parts(const nlohmann::json& parts, size_t index, std::string& out) {
  for (size_t i = 0; i < parts.size(); ++i) {
    const nlohmann::json& json = parts[i];
    const std::string place = fmt::format("content[{}]", i);
    if (!json.is_object())
      return blame(place, invalid_argument("a part of message {} is {}, expected an object", index,
                                           found_text(json)));
    Fields fields(json);
    std::string type, text;
    fields.text("type", type);
    if (type != "text")
      fields.fail(blame("type", invalid_argument("a part of message {} is of type '{}', expected "
                                                 "'text'",
                                                 index, type)));
    fields.only(kPartFields);
    fields.text("text", text);
    if (!fields.status()) return in_part(place, fields.status().error());
    out += text;
  }
  return {};
}

Status read_message(const nlohmann::json& json, size_t index, ChatMessage& message) {
  if (!json.is_object())
    return invalid_argument("message {} is {}, expected an object", index, found_text(json));
  Fields fields(json);
  std::string ignored;
  fields.only(kMessageFields);
  fields.text("name", ignored);
  fields.text("role", message.role);
  for (const char* name : kEmptyFields)
    if (fields.has(name) && fields[name] != nlohmann::json::array())
      fields.fail(name, fields[name], "null or []");
  const auto need = [&](const char* name) {
    if (!fields.has(name))
      fields.fail(blame(name, invalid_argument("message {} has no '{}'", index, name)));
  };
  need("role");
  if (message.role == "developer") message.role = "system";  // its later name
  if (message.role != "system" && message.role != "user" && message.role != "assistant")
    fields.fail(blame("role", invalid_argument("the role of message {} is '{}', expected system, "
                                               "developer, user or assistant",
                                               index, message.role)));
  if (message.role != "assistant") need("content");
  if (!fields.status()) return fields.status();
  if (fields.has("content") && fields["content"].is_array())
    return read_parts(fields["content"], index, message.content);
  fields.text("content", message.content);
  return fields.status();
}

}  // namespace

void read_sampling(Fields& fields, SamplingOptions& sampling) {
  fields.integer("max_tokens", sampling.max_tokens);
  fields.number("temperature", sampling.temperature);
  fields.integer("top_k", sampling.top_k);
  if (sampling.top_k == -1) sampling.top_k = 0;  // off, as other servers write it
  fields.number("top_p", sampling.top_p);
  fields.number("min_p", sampling.min_p);
  fields.biases("logit_bias", sampling.logit_bias);
  fields.number("repetition_penalty", sampling.repetition_penalty);
  fields.number("presence_penalty", sampling.presence_penalty);
  fields.number("frequency_penalty", sampling.frequency_penalty);
  fields.seed("seed", sampling.seed);
  fields.integer("n", sampling.n);
  fields.texts("stop", sampling.stop);
  fields.flag("ignore_eos", sampling.ignore_eos);
}

bool read_stream_options(Fields& fields, bool stream) {
  if (!fields.has("stream_options")) return false;
  nlohmann::json options = nlohmann::json::object();
  fields.object("stream_options", options);
  if (!stream) fields.fail("stream_options", options, "nothing where 'stream' is not true");
  bool include_usage = false, obfuscates = false;
  Fields of_stream(options);
  of_stream.flag("include_usage", include_usage);
  of_stream.flag("include_obfuscation", obfuscates);
  if (obfuscates) of_stream.fail("include_obfuscation", true, "false: it is not offered");
  of_stream.only(std::initializer_list<std::string_view>{"include_usage", "include_obfuscation"});
  fields.fail("stream_options", of_stream);
  return include_usage;
}

size_t list_bytes(const SamplingOptions& sampling) {
  constexpr size_t kBytesPerBias = 64;  // a node of the map
  size_t n_bytes =
      sampling.logit_bias.size() * kBytesPerBias + sampling.stop_tokens.size() * sizeof(Token);
  for (const std::string& stop : sampling.stop) n_bytes += sizeof(stop) + stop.size();
  return n_bytes;
}

Result<std::vector<ChatMessage>> parse_messages(const nlohmann::json& messages) {
  if (!messages.is_array() || messages.empty())
    return invalid_field("messages", "is {}, expected a list of one or more", found_text(messages));
  std::vector<ChatMessage> out(messages.size());
  for (size_t i = 0; i < out.size(); ++i)
    if (Status status = read_message(messages[i], i, out[i]); !status)
      return in_part(fmt::format("messages[{}]", i), status.error());
  return out;
}

}  // namespace pando
