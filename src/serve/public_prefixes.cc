#include "serve/public_prefixes.h"

#include <algorithm>

#include "base/counted.h"
#include "base/errors.h"

namespace pando::serve {
namespace {

size_t n_equal(const std::vector<Token>& a, const std::vector<Token>& b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                             a.begin());
}

// A conversation with the text as its system message, up to what the user says.
Result<std::vector<Token>> as_system_message(const Model& model, const std::string& text) {
  std::vector<Token> forms[2];
  for (const auto& [tokens, content] : {std::pair{&forms[0], "0"}, {&forms[1], "a"}}) {
    const Result<std::string> chat = model.render_chat(std::vector<ChatMessage>{
        {.role = "system", .content = text}, {.role = "user", .content = content}});
    if (!chat) return chat.error();
    Result<std::vector<Token>> encoded = model.encode(*chat, /*add_bos=*/false);
    if (!encoded) return encoded.error();
    *tokens = std::move(*encoded);
  }
  forms[0].resize(n_equal(forms[0], forms[1]));
  return std::move(forms[0]);
}

}  // namespace

Result<PublicPrefixes> PublicPrefixes::make(const Model& model,
                                            const std::map<std::string, std::string>& texts,
                                            size_t context) {
  PublicPrefixes made;
  for (const auto& [name, text] : texts) {
    Prefix& prefix = made.prefixes_[name];
    prefix.name = name;
    Result<std::vector<Token>> plain = model.encode(text);
    if (!plain) return plain.error();
    prefix.forms.push_back(std::move(*plain));
    Result<std::vector<Token>> chat = as_system_message(model, text);
    if (chat) prefix.forms.push_back(std::move(*chat));  // or there is no template for it
    if (prefix.forms.front().empty())
      return invalid_argument("the public prefix '{}' is empty, expected a text", name);
    if (const size_t n = prefix.forms.front().size(); n >= context)
      return invalid_argument(
          "the public prefix '{}' has {}, expected fewer than the context of {}", name,
          counted(n, "tokens"), context);
  }
  return made;
}

Result<const PublicPrefixes::Prefix*> PublicPrefixes::find(const std::string& name) const {
  if (name.empty()) return static_cast<const Prefix*>(nullptr);
  const auto found = prefixes_.find(name);
  if (found != prefixes_.end()) return &found->second;
  return blame("public_prefix", invalid_argument("the public prefix '{}' is unknown", name));
}

Result<size_t> PublicPrefixes::n_public(const Prefix& prefix, const std::vector<Token>& prompt) {
  for (const std::vector<Token>& form : prefix.forms)
    if (const size_t n = n_equal(form, prompt); n > 0 && 2 * n >= form.size()) return n;
  return blame(
      "public_prefix",
      invalid_argument("the prompt does not begin with the public prefix '{}'", prefix.name));
}

}  // namespace pando::serve
