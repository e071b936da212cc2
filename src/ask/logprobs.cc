#include "ask/logprobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/model_access.h"
#include "api/prompt.h"
#include "base/json.h"
#include "text/answer_decoder.h"
#include "text/utf8.h"

namespace pando::ask {
namespace {

// The token's own bytes, which need not be whole characters.
std::string token_bytes(const Model& model, Token token) {
  const Tokenizer* tokenizer = tokenizer_of(model);
  return tokenizer != nullptr ? tokenizer->token_bytes(token, /*skip_special=*/false)
                              : std::string();
}

// Tokens without text are told by their number, as by vLLM.
std::string nameless(Token token) { return fmt::format("token_id:{}", token); }

std::string token_text(const Model& model, Token token) {
  std::string bytes = token_bytes(model, token);
  if (bytes.empty()) return nameless(token);
  if (!find_invalid_utf8(bytes)) return bytes;
  std::string text = "bytes:";
  for (const char c : bytes) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return text;
}

Json token_json(const Model& model, Token token, float logprob) {
  const std::string text = token_bytes(model, token);
  return {{"token", text.empty() ? nameless(token) : text},
          {"logprob", printed(logprob)},
          {"bytes",
           std::vector<int>(reinterpret_cast<const unsigned char*>(text.data()),
                            reinterpret_cast<const unsigned char*>(text.data()) + text.size())}};
}

size_t n_characters(const std::string& text) {
  size_t n = 0;
  for (const char c : text) n += (c & 0xc0) != 0x80;
  return n;
}

// That of the engine for an answer to this request.
AnswerDecoder answer_decoder(const Model& model, const Request& request) {
  const Tokenizer& tokenizer = *tokenizer_of(model);
  const bool needs_prompt = request.tokens.empty() && (!request.messages.empty() ||
                                                       tokenizer.decoding() != nullptr);
  const Result<std::vector<Token>> prompt =
      needs_prompt ? encode_prompt(model, request) : Result<std::vector<Token>>(request.tokens);
  return {tokenizer, answer_format_of(model), request,
          prompt ? *prompt : std::vector<Token>()};
}

}  // namespace

double printed(float value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  double number = value;  // stays so where it is not finite
  std::from_chars(text, end, number);
  return number;
}

std::span<const TokenLogprob> reported_logprobs(const Model& model, const Request& request,
                                                const Completion& completion) {
  const std::span<const TokenLogprob> all = completion.logprobs;
  const Tokenizer* tokenizer = tokenizer_of(model);
  const SamplingOptions& sampling = request.sampling;
  if (sampling.stop.empty() || completion.finish_reason != FinishReason::kStop ||
      tokenizer == nullptr)
    return all;
  AnswerDecoder decoder = answer_decoder(model, request);
  size_t n_bytes = 0, n_reported = 0;
  for (const Token token : completion.tokens) {
    const size_t n_new = decoder.push(token).content.size();
    const bool is_before = n_bytes + n_new == 0 && !completion.reasoning.empty();
    if (n_bytes < completion.text.size() || is_before) ++n_reported;
    n_bytes += n_new;
  }
  n_bytes += decoder.finish().content.size();
  const bool ended_by_text = n_bytes > completion.text.size();
  if (!ended_by_text) return all;
  if (tokenizer->decoding() != nullptr) {
    // Text may come later than its token. The first tokens that give all that is shown count.
    const auto lacks_text = [&](size_t n) {
      AnswerDecoder of_first = answer_decoder(model, request);
      AnswerText text;
      const auto add = [&](const AnswerText& more) {
        text.content += more.content;
        text.reasoning += more.reasoning;
      };
      for (const Token token : std::span(completion.tokens).first(n)) add(of_first.push(token));
      add(of_first.finish());
      return !text.content.starts_with(completion.text) ||
             !text.reasoning.starts_with(completion.reasoning);
    };
    size_t least = 0;
    for (size_t most = n_reported; least < most;) {
      const size_t middle = least + (most - least) / 2;
      if (lacks_text(middle))
        least = middle + 1;
      else
        most = middle;
    }
    n_reported = least;
  }
  return all.first(std::min(n_reported, all.size()));
}

bool tells_at_end(const Model& model, const Request& request) {
  const Tokenizer* tokenizer = tokenizer_of(model);
  return !request.sampling.stop.empty() && tokenizer != nullptr && tokenizer->decoding() != nullptr;
}

Json chat_logprobs(const Model& model, std::span<const TokenLogprob> tokens) {
  ListText content;
  for (const TokenLogprob& token : tokens) {
    Json place = token_json(model, token.token, token.logprob);
    place["top_logprobs"] = Json::array();
    for (const auto& [id, logprob] : token.top)
      place["top_logprobs"].push_back(token_json(model, id, logprob));
    content.add(place);
  }
  return {{"content", content.take()}, {"refusal", nullptr}};
}

void TokenLists::add_all(std::span<const TokenLogprob> tokens) {
  for (const TokenLogprob& token : tokens) {
    Json top = Json::object();
    for (const auto& [id, logprob] : token.top)  // the likeliest of those that look alike
      top.emplace(token_text(*model_, id), printed(logprob));
    top.emplace(token_text(*model_, token.token), printed(token.logprob));
    add(token.token, printed(token.logprob), top);
  }
}

void TokenLists::skip(const std::string& text) { offset_ += n_characters(text); }

void TokenLists::add(Token token, const Json& logprob, const Json& top) {
  texts_.add(token_text(*model_, token));
  logprobs_.add(logprob);
  top_.add(top);
  offsets_.add(offset_);
  offset_ += n_characters(token_bytes(*model_, token));
}

Json TokenLists::take() {
  return {{"tokens", texts_.take()},
          {"token_logprobs", logprobs_.take()},
          {"top_logprobs", top_.take()},
          {"text_offset", offsets_.take()}};
}

}  // namespace pando::ask
