#include "text/chat/chat_files.h"

#include <algorithm>

#include "base/gguf.h"
#include "text/json_file.h"

namespace pando {
namespace {

namespace fs = std::filesystem;

void add_template(std::vector<TemplateText>& all, std::string name, std::string text,
                  const std::string& file) {
  const bool is_known =
      std::any_of(all.begin(), all.end(), [&](const TemplateText& t) { return t.name == name; });
  if (!is_known) all.push_back({std::move(name), std::move(text), fmt::format("'{}'", file)});
}

// Field chat_template: a text, or a list of {"name", "template"}.
Status add_field(const JsonPlace& place, std::vector<TemplateText>& all) {
  if (place.absent()) return {};
  if (!place.json().is_array()) {
    Result<std::string> text = place.text();
    if (!text) return text.error();
    add_template(all, "default", std::move(*text), place.file());
    return {};
  }
  for (size_t i = 0; i < place.json().size(); ++i) {
    Result<std::string> name = place.at(i).at("name").text();
    if (!name) return name.error();
    Result<std::string> text = place.at(i).at("template").text();
    if (!text) return text.error();
    add_template(all, std::move(*name), std::move(*text), place.file());
  }
  return {};
}

Status add_jinja_file(const ModelPath& path, std::string name, std::vector<TemplateText>& all) {
  Result<std::string> text = read_text_file(path);
  if (!text) return text.error();
  add_template(all, std::move(name), std::move(*text), path.string());
  return {};
}

Status add_folder(const ModelPath& folder, std::vector<TemplateText>& all) {
  if (!is_there(folder.path())) return {};
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator at(folder.path(), error), end; !error && at != end;
       at.increment(error))
    if (at->path().extension() == ".jinja") files.push_back(at->path());
  if (error) return io_error("'{}' cannot be read: {}", folder.string(), error.message());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files)
    if (Status status = add_jinja_file(folder.at(file), file.stem().string(), all); !status)
      return status;
  return {};
}

// Templates stand beside a tokenizer's file.
ModelPath place_of(const ModelPath& tokenizer) {
  const fs::path& path = tokenizer.path();
  if (!is_tokenizer_file(path)) return tokenizer;
  return tokenizer.at(path.has_parent_path() ? path.parent_path() : fs::path("."));
}

Result<std::vector<TemplateText>> find_in_gguf(const GgufFile& gguf) {
  constexpr std::string_view kKey = "tokenizer.chat_template";
  std::vector<TemplateText> all;
  for (const std::string_view key : gguf.keys(kKey)) {
    const std::string_view rest = key.substr(kKey.size());
    if (!rest.empty() && rest[0] != '.') continue;  // of tokenizer.chat_templates, their names
    const auto text = gguf.string(key);
    if (!text) return text.error();
    add_template(all, rest.empty() ? "default" : std::string(rest.substr(1)), std::string(**text),
                 gguf.file().path().string());
  }
  return all;
}

Result<NamedTokens> tokens_in_gguf(const GgufFile& gguf, const Tokenizer& tokenizer) {
  constexpr std::pair<const char*, const char*> kIds[] = {
      {"tokenizer.ggml.bos_token_id", "bos_token"},
      {"tokenizer.ggml.eos_token_id", "eos_token"},
      {"tokenizer.ggml.unknown_token_id", "unk_token"},
      {"tokenizer.ggml.seperator_token_id", "sep_token"},  // as the format spells it
      {"tokenizer.ggml.padding_token_id", "pad_token"},
      {"tokenizer.ggml.cls_token_id", "cls_token"},
      {"tokenizer.ggml.mask_token_id", "mask_token"}};
  NamedTokens tokens;
  for (const auto& [key, name] : kIds) {
    const Result<std::optional<int64_t>> id = gguf.integer(key);
    if (!id) return id.error();
    if (*id && **id >= 0 && **id < tokenizer.vocab_size())
      tokens.emplace_back(name,
                          tokenizer.token_bytes(static_cast<Token>(**id), /*skip_special=*/false));
  }
  return tokens;
}

// A field's text, or the "content" of its object; nothing if it is something else.
const std::string* token_text(const Json& value) {
  if (value.is_string()) return value.get_ptr<const std::string*>();
  if (!value.is_object() || !value.contains("content") || !value["content"].is_string())
    return nullptr;
  return value["content"].get_ptr<const std::string*>();
}

void set_token(NamedTokens& tokens, const std::string& name, const std::string& text) {
  for (auto& [known, other] : tokens)
    if (known == name) {
      other = text;
      return;
    }
  tokens.emplace_back(name, text);
}

Status add_tokens_of(const ModelPath& path, NamedTokens& tokens, bool& lists_added) {
  if (!is_there(path.path())) return {};
  const Result<Json> document = read_json_file(path);
  if (!document) return document.error();
  if (!document->is_object()) return JsonPlace(*document, path.string()).expect_object();
  for (const auto& [name, value] : document->items())
    if (name.ends_with("_token"))
      if (const std::string* text = token_text(value)) set_token(tokens, name, *text);
  lists_added = lists_added || document->contains("added_tokens_decoder");
  for (const char* field : {"extra_special_tokens", "model_specific_special_tokens"}) {
    const auto more = document->find(field);
    if (more == document->end() || !more->is_object()) continue;
    for (const auto& [name, value] : more->items())
      if (const std::string* text = token_text(value)) set_token(tokens, name, *text);
  }
  return {};
}

}  // namespace

Result<std::vector<TemplateText>> find_chat_templates(const ModelPath& tokenizer) {
  const ModelPath path = place_of(tokenizer);
  std::error_code failure;
  if (!fs::is_directory(path.path(), failure)) {
    const auto gguf = path.gguf();
    return gguf ? find_in_gguf(**gguf) : gguf.error();
  }
  std::vector<TemplateText> all;
  if (is_there(path.path() / "chat_template.jinja"))
    if (Status status = add_jinja_file(path / "chat_template.jinja", "default", all); !status)
      return status.error();
  if (Status status = add_folder(path / "additional_chat_templates", all); !status)
    return status.error();
  if (!all.empty()) return all;  // then the configuration's are older ones
  for (const char* name : {"tokenizer_config.json", "chat_template.json"}) {
    if (!all.empty() || !is_there(path.path() / name)) continue;
    const Result<Json> document = read_json_file(path / name);
    if (!document) return document.error();
    const JsonPlace root(*document, (path / name).string());
    if (Status status = add_field(root.at("chat_template"), all); !status) return status.error();
  }
  return all;
}

Result<NamedTokens> find_named_tokens(const ModelPath& of_tokenizer, const Tokenizer& tokenizer) {
  const ModelPath path = place_of(of_tokenizer);
  std::error_code failure;
  if (!fs::is_directory(path.path(), failure)) {
    const auto gguf = path.gguf();
    return gguf ? tokens_in_gguf(**gguf, tokenizer) : gguf.error();
  }
  NamedTokens tokens;
  bool lists_added = false, ignored = false;
  if (Status status = add_tokens_of(path / "tokenizer_config.json", tokens, lists_added); !status)
    return status.error();
  // An older file, which says more only where the configuration does not list the added tokens.
  if (!lists_added)
    if (Status status = add_tokens_of(path / "special_tokens_map.json", tokens, ignored); !status)
      return status.error();
  if (is_there(path.path() / "tokenizer.json")) return tokens;
  const bool has_bos = std::any_of(tokens.begin(), tokens.end(),
                                   [](const auto& token) { return token.first == "bos_token"; });
  if (!has_bos && tokenizer.bos())
    tokens.emplace_back("bos_token", tokenizer.token_bytes(*tokenizer.bos(), false));
  return tokens;
}

}  // namespace pando
