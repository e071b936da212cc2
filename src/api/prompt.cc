#include "api/prompt.h"

#include <algorithm>

#include "api/model_parts.h"
#include "base/errors.h"
#include "text/answer_decoder.h"

namespace pando {
namespace {

Result<std::vector<Token>> encode_whole(const Model& model, const Request& request,
                                        bool adds_special) {
  if (!request.tokens.empty()) return request.tokens;
  if (!request.messages.empty()) {
    const Result<std::string> text = model.render_chat(request.messages, request.chat);
    if (!text) return text.error();
    return model.encode(*text, adds_special);
  }
  if (request.prompt.empty()) return std::vector<Token>();
  return model.encode(request.prompt, adds_special);
}

// Cuts tokens to the length that the request allows. Returns how many it cut.
size_t cut(const Model& model, const Request& request, bool adds_special,
           std::vector<Token>& tokens) {
  const auto most = static_cast<size_t>(std::max(request.truncate_prompt_tokens, 0));
  if (most == 0 || tokens.size() <= most) return 0;
  size_t n_before = 0, n_behind = 0;
  if (adds_special && request.tokens.empty()) {
    const Tokenizer& tokenizer = *model.parts().tokenizer;
    n_behind = tokenizer.n_behind();
    if (const auto around = tokenizer.encode("", /*add_bos=*/true); around)
      n_before = around->size() - n_behind;
  }
  // The tokens around the text stay, even if there are more than `most`.
  const size_t n_left = std::min(std::max(most, n_before + n_behind), tokens.size());
  const auto n_cut = static_cast<std::ptrdiff_t>(tokens.size() - n_left);
  const auto first = request.truncate_at_end
                         ? tokens.end() - static_cast<std::ptrdiff_t>(n_behind) - n_cut
                         : tokens.begin() + static_cast<std::ptrdiff_t>(n_before);
  tokens.erase(first, first + n_cut);
  return static_cast<size_t>(n_cut);
}

struct Encoded {
  std::vector<Token> tokens;
  size_t n_cut = 0;
};
Result<Encoded> encoded(const Model& model, const Request& request) {
  const bool adds_special = request.add_special_tokens.value_or(request.messages.empty());
  Result<std::vector<Token>> tokens = encode_whole(model, request, adds_special);
  if (!tokens) return tokens.error();
  const size_t n_cut = cut(model, request, adds_special, *tokens);
  return Encoded{std::move(*tokens), n_cut};
}

// As in sentence-transformers, a special token at the end does not count.
Result<int> n_unpooled(const Model& model, const Request& request) {
  Request begin = {.prompt = request.unpooled,
                   .add_special_tokens = request.add_special_tokens,
                   .truncate_prompt_tokens = request.truncate_prompt_tokens,
                   .truncate_at_end = request.truncate_at_end};
  const Result<std::vector<Token>> tokens = encode_prompt(model, begin);
  if (!tokens) return tokens.error();
  const bool ends_special =
      !tokens->empty() &&
      model.parts().tokenizer->token_bytes(tokens->back(), /*skip_special=*/true).empty();
  return static_cast<int>(tokens->size()) - (ends_special ? 1 : 0);
}

}  // namespace

Result<std::vector<Token>> encode_prompt(const Model& model, const Request& request) {
  Result<Encoded> prompt = encoded(model, request);
  if (!prompt) return prompt.error();
  return std::move(prompt->tokens);
}

Status take_tokens(const Model& model, Request& request) {
  Result<Encoded> prompt = encoded(model, request);
  if (!prompt) return prompt.error();
  if (request.tokens.empty() && !request.unpooled.empty()) {
    if (!request.prompt.starts_with(request.unpooled))
      return invalid_argument("the text was cut inside its prompt, which the embedding leaves out");
    const Result<int> n = n_unpooled(model, request);
    if (!n) return n.error();
    request.pooled_from = *n;
  }
  request.tokens = std::move(prompt->tokens);
  request.cut_tokens += static_cast<int>(prompt->n_cut);
  return {};
}

Status check_conversation(const Model& model, const Request& request) {
  const Result<std::string> text = model.render_chat(request.messages, request.chat);
  if (text || text.error().code != ErrorCode::kInvalidArgument)
    return text ? Status() : text.error();
  for (const JsonValue& tools : {JsonValue::parse(kTrialTools).value(), JsonValue()})
    for (const JsonValue& documents : {JsonValue::parse(kTrialDocuments).value(), JsonValue()}) {
      ChatOptions options = request.chat;
      if (options.tools.is_null()) options.tools = tools;
      if (options.documents.is_null()) options.documents = documents;
      if (model.render_chat(request.messages, options)) return {};
    }
  return text.error();
}

Result<std::string> prompt_text(const Model& model, const Request& request) {
  const bool is_whole = request.truncate_prompt_tokens == 0;
  if (is_whole && !request.messages.empty())
    return model.render_chat(request.messages, request.chat);
  if (is_whole && (!request.prompt.empty() || request.tokens.empty())) return request.prompt;
  const Result<std::vector<Token>> tokens = encode_prompt(model, request);
  if (!tokens) return tokens.error();
  return model.decode(*tokens);
}

std::string_view opening_of_content(const Model& model, std::string_view prompt) {
  const Tokenizer* tokenizer = model.parts().tokenizer.get();
  return tokenizer == nullptr ? std::string_view() : opening_of_content(*tokenizer, prompt);
}

}  // namespace pando
