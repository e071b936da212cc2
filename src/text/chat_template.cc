#include "text/chat_template.h"

#include <xxhash.h>

#include "base/gguf.h"
#include "text/chat_forms.h"
#include "text/chat_render.h"
#include "text/json_file.h"
#include "text/special_tokens.h"
#include "text/utf8.h"

namespace pando {

namespace {

// Python's str.isspace() for what can stand in a text.
bool is_python_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
         c == 0x205f || c == 0x3000;
}

// The text of a template in a field; nothing where there is none.
Result<std::optional<std::string>> read_field(const JsonPlace& place) {
  if (place.absent()) return std::optional<std::string>();
  if (place.json().is_array()) {
    for (size_t i = 0; i < place.json().size(); ++i) {
      Result<std::string> name = place.at(i).at("name").text();
      if (!name) return name.error();
      if (*name != "default") continue;
      Result<std::string> text = place.at(i).at("template").text();
      if (!text) return text.error();
      return std::optional(std::move(*text));
    }
    return std::optional<std::string>();
  }
  Result<std::string> text = place.text();
  if (!text) return text.error();
  return std::optional(std::move(*text));
}

struct FoundText {
  std::string text;
  std::string file;
};

Error none_in(const std::filesystem::path& path) {
  return unsupported("'{}' has no chat template (hint: ask without chat)", path.string());
}

Result<FoundText> find_text(const std::filesystem::path& directory) {
  const std::filesystem::path jinja = directory / "chat_template.jinja";
  if (is_there(jinja)) {
    Result<std::string> text = read_text_file(jinja);
    if (!text) return text.error();
    return FoundText{std::move(*text), jinja.string()};
  }
  for (const char* name : {"tokenizer_config.json", "chat_template.json"}) {
    const std::filesystem::path path = directory / name;
    if (!is_there(path)) continue;
    const Result<Json> document = read_json_file(path);
    if (!document) return document.error();
    Result<std::optional<std::string>> text =
        read_field(JsonPlace(*document, path.string()).at("chat_template"));
    if (!text) return text.error();
    if (*text) return FoundText{std::move(**text), path.string()};
  }
  return none_in(directory);
}

Result<ChatTemplate> load_gguf(const std::filesystem::path& path, const Tokenizer& tokenizer) {
  const Result<GgufFile> gguf = GgufFile::open(path);
  if (!gguf) return gguf.error();
  const Result<std::optional<std::string_view>> text = gguf->string("tokenizer.chat_template");
  if (!text) return text.error();
  if (!*text) return none_in(path);
  ChatTemplate::Tokens tokens;
  const std::pair<const char*, std::optional<std::string>&> keys[] = {
      {"tokenizer.ggml.bos_token_id", tokens.bos}, {"tokenizer.ggml.eos_token_id", tokens.eos}};
  for (const auto& [key, token] : keys) {
    const Result<std::optional<int64_t>> id = gguf->integer(key);
    if (!id) return id.error();
    if (*id && **id >= 0 && **id < tokenizer.vocab_size())
      token = tokenizer.token_bytes(static_cast<Token>(**id), /*skip_special=*/false);
  }
  return ChatTemplate::recognise(**text, path.string(), tokens);
}

Status check_roles(std::span<const ChatMessage> messages) {
  if (messages.empty()) return invalid_argument("the conversation has no messages");
  for (const ChatMessage& message : messages)
    if (message.role != "system" && message.role != "user" && message.role != "assistant")
      return invalid_argument("the role of a message is '{}', expected system, user or assistant",
                              message.role);
  return {};
}

}  // namespace

SplitSystem split_system(std::span<const ChatMessage> messages) {
  if (messages.front().role != "system") return {nullptr, messages};
  return {&messages.front(), messages.subspan(1)};
}

std::string_view trim_space(std::string_view text) {
  while (!text.empty()) {
    const Utf8Step step = next_utf8(text);
    if (step.kind != Utf8Kind::kCharacter || !is_python_space(step.point)) break;
    text.remove_prefix(step.length);
  }
  while (!text.empty()) {
    size_t at = text.size() - 1;
    while (at > 0 && text.size() - at < 4 && (text[at] & 0xc0) == 0x80) --at;
    const Utf8Step step = next_utf8(text.substr(at));
    if (step.kind != Utf8Kind::kCharacter || !is_python_space(step.point)) break;
    text.remove_suffix(text.size() - at);
  }
  return text;
}

uint64_t ChatTemplate::hash(std::string_view text) {
  std::string normalized;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && text.substr(i + 1).starts_with('\n')) continue;
    normalized += text[i] == '\r' ? '\n' : text[i];
  }
  if (normalized.ends_with('\n')) normalized.pop_back();
  return XXH3_64bits(normalized.data(), normalized.size());
}

Result<ChatTemplate> ChatTemplate::load(const std::filesystem::path& path,
                                        const Tokenizer& tokenizer) {
  std::error_code failure;
  if (!std::filesystem::is_directory(path, failure)) return load_gguf(path, tokenizer);
  const Result<FoundText> found = find_text(path);
  if (!found) return found.error();
  const Result<TokenizerConfig> config = read_tokenizer_config(path);
  if (!config) return config.error();
  Tokens tokens{config->bos, config->eos};
  if (!tokens.bos && tokenizer.bos())
    tokens.bos = tokenizer.token_bytes(*tokenizer.bos(), /*skip_special=*/false);
  return recognise(found->text, found->file, tokens);
}

Result<ChatTemplate> ChatTemplate::recognise(std::string_view text, std::string_view source,
                                             const Tokens& tokens) {
  return with_hash(hash(text), source, tokens);
}

Result<ChatTemplate> ChatTemplate::with_hash(uint64_t hash, std::string_view source,
                                             const Tokens& tokens) {
  const ChatForm* form = find_chat_form(hash);
  if (form == nullptr)
    return unsupported(
        "'{}': the chat template is not a known one (its hash is {:016x}; hint: ask without chat, "
        "with a prompt template of your own)",
        source, hash);
  const bool has_eos = form->writes == Writes::kEos || form->writes == Writes::kBosAndEos;
  const bool has_bos = form->writes == Writes::kBos || form->writes == Writes::kBosAndEos;
  const char* lacking = has_bos && !tokens.bos   ? "bos_token"
                        : has_eos && !tokens.eos ? "eos_token"
                                                 : nullptr;
  if (lacking != nullptr)
    return bad_file("'{}': the chat template writes the {}, which the tokenizer does not name",
                    source, lacking);
  return ChatTemplate(*form, tokens);
}

std::string_view ChatTemplate::name() const { return form_->name; }

Result<std::string> ChatTemplate::render(std::span<const ChatMessage> messages,
                                         const ChatOptions& options) const {
  if (Status status = check_roles(messages); !status) return status.error();
  if (options.thinking && form_->thinking == Thinking::kNever)
    return blame(
        "thinking",
        invalid_argument("chat template '{}' knows no thinking, expected it turned off", name()));
  if (!options.thinking && form_->thinking == Thinking::kAlways)
    return blame(
        "thinking",
        invalid_argument("chat template '{}' always thinks, expected thinking turned on", name()));
  Result<ChatRendering> rendering = form_->render({messages, options, bos_, eos_});
  if (!rendering)
    return invalid_argument("chat template '{}': {}", name(), rendering.error().message);
  if (rendering->left_out)
    return invalid_argument(
        "chat template '{}' leaves a system message out where this conversation has it (hint: put "
        "its text into the user's message)",
        name());
  return std::move(rendering->text);
}

}  // namespace pando
