#include "ask/tokenize_body.h"

#include <algorithm>
#include <string>
#include <vector>

#include "api/model_access.h"
#include "api/prompt.h"
#include "ask/chat_fields.h"
#include "ask/errors.h"
#include "ask/sampling_fields.h"
#include "base/errors.h"
#include "base/fields.h"
#include "text/tokenizer.h"

namespace pando::ask {

Result<Json> tokenize(const Model& model, size_t longest, const Json& body) {
  Fields fields(body);
  Request request;
  std::string ignored;
  bool add_special = false, with_texts = false;
  fields.text("model", ignored);
  fields.text("prompt", request.prompt);
  fields.flag("add_special_tokens", add_special);
  if (fields.has("add_special_tokens")) request.add_special_tokens = add_special;
  fields.flag("return_token_strs", with_texts);
  read_chat_options(fields, request.chat, request.calling);
  fields.only(std::initializer_list<std::string_view>{
      "model", "prompt", "messages", "add_special_tokens", "add_generation_prompt",
      "continue_final_message", "return_token_strs", "chat_template_kwargs", "tools", "tool_choice",
      "documents"});
  if (!fields.status()) return fields.status().error();
  if (fields.has("prompt") == fields.has("messages"))
    return invalid_argument(
        "the body has both or neither of 'prompt' and 'messages', expected one");
  if (fields.has("messages")) {
    Result<std::vector<ChatMessage>> messages = read_messages(body["messages"]);
    if (!messages) return messages.error();
    request.messages = std::move(*messages);
  }
  // An empty text too has what stands around it.
  const Result<std::vector<Token>> tokens =
      request.messages.empty() && request.prompt.empty()
          ? model.encode("", request.add_special_tokens.value_or(true))
          : encode_prompt(model, request);
  if (!tokens) {
    if (!tokens.error().place.field.empty()) return tokens.error();
    return blame(request.messages.empty() ? "prompt" : "messages", tokens.error());
  }
  ListText ids;
  for (const Token token : *tokens) ids.add(token);
  Json reply = {{"count", tokens->size()}, {"max_model_len", longest}, {"tokens", ids.take()}};
  if (with_texts) {
    ListText texts;
    for (const Token token : *tokens) texts.add(model.piece(token).value());
    reply["token_strs"] = texts.take();
  }
  return reply;
}

Result<Json> detokenize(const Model& model, const Json& body) {
  Fields fields(body);
  std::string ignored;
  std::vector<Token> tokens;
  fields.text("model", ignored);
  fields.tokens("tokens", tokens);
  fields.only(std::initializer_list<std::string_view>{"model", "tokens"});
  if (!fields.status()) return fields.status().error();
  if (!fields.has("tokens")) return missing_field("tokens");
  const Tokenizer* tokenizer = tokenizer_of(model);
  const int n_vocab =
      std::max(model.info().vocab, tokenizer == nullptr ? 0 : tokenizer->vocab_size());
  for (const Token token : tokens)
    if (token >= n_vocab)
      return invalid_field("tokens", "has {}, expected 0 to {}", token, n_vocab - 1);
  const Result<std::string> text = model.decode(tokens);
  if (!text) return text.error();
  return Json{{"prompt", *text}};
}

}  // namespace pando::ask
