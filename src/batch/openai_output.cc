// The answers to lines of an OpenAI batch.
#include <fmt/format.h>
#include <xxhash.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "batch/openai_line.h"
#include "engine/model_parts.h"

namespace pando {
namespace {

using Json = nlohmann::ordered_json;

// The token's own bytes, which need not be whole characters.
std::string token_text(const Model& model, Token token) {
  const Tokenizer* tokenizer = model.parts().tokenizer.get();
  return tokenizer != nullptr ? tokenizer->token_bytes(token, /*skip_special=*/false)
                              : std::string();
}

Json token_json(const Model& model, Token token, float logprob) {
  const std::string text = token_text(model, token);
  return {{"token", text},
          {"logprob", logprob},
          {"bytes",
           std::vector<int>(reinterpret_cast<const unsigned char*>(text.data()),
                            reinterpret_cast<const unsigned char*>(text.data()) + text.size())}};
}

Json chat_logprobs(const Model& model, const std::vector<TokenLogprob>& tokens) {
  Json content = Json::array();
  for (const TokenLogprob& token : tokens) {
    Json place = token_json(model, token.token, token.logprob);
    place["top_logprobs"] = Json::array();
    for (const auto& [id, logprob] : token.top)
      place["top_logprobs"].push_back(token_json(model, id, logprob));
    content.push_back(std::move(place));
  }
  return {{"content", std::move(content)}};
}

// Four lists, an entry for each token.
class TokenLists {
 public:
  explicit TokenLists(const Model& model) : model_(model) {}

  // What nothing comes before has no likelihood.
  void add_first(Token token) { add(token, nullptr, nullptr); }
  void add_all(const std::vector<TokenLogprob>& tokens, bool with_top) {
    for (const TokenLogprob& token : tokens) {
      Json top;
      for (const auto& [id, logprob] : token.top)  // the likeliest of those that look alike
        top.emplace(token_text(model_, id), logprob);
      add(token.token, token.logprob, with_top ? std::move(top) : nullptr);
    }
  }
  Json json() && {
    return {{"tokens", std::move(texts_)},
            {"token_logprobs", std::move(logprobs_)},
            {"top_logprobs", std::move(top_)},
            {"text_offset", std::move(offsets_)}};
  }

 private:
  void add(Token token, Json logprob, Json top) {
    const std::string text = token_text(model_, token);
    texts_.push_back(text);
    logprobs_.push_back(std::move(logprob));
    top_.push_back(std::move(top));
    offsets_.push_back(offset_);
    for (const char c : text) offset_ += (c & 0xc0) != 0x80;  // in characters
  }

  const Model& model_;
  Json texts_ = Json::array(), logprobs_ = Json::array(), top_ = Json::array();
  Json offsets_ = Json::array();
  size_t offset_ = 0;
};

// The prompt's tokens as the engine saw them.
std::vector<Token> prompt_tokens(const Request& request, const Model& model) {
  if (!request.tokens.empty()) return request.tokens;
  Result<std::vector<Token>> tokens = model.encode(request.prompt);
  return tokens ? std::move(*tokens) : std::vector<Token>();
}

Json completion_choice(const BatchLine& line, const Request& request, const Completion& completion,
                       const Model& model) {
  Json choice = {{"index", 0}, {"text", completion.text}, {"logprobs", nullptr}};
  std::vector<Token> prompt;
  if (line.echo) {
    prompt = prompt_tokens(request, model);
    std::string text = request.prompt;
    if (!request.tokens.empty())
      if (Result<std::string> decoded = model.decode(prompt); decoded) text = std::move(*decoded);
    choice["text"] = text + completion.text;
  }
  if (request.sampling.logprobs) {
    TokenLists lists(model);
    if (!prompt.empty()) lists.add_first(prompt[0]);
    const bool with_top = request.sampling.top_logprobs > 0;
    lists.add_all(completion.prompt_logprobs, with_top);
    lists.add_all(completion.logprobs, with_top);
    choice["logprobs"] = std::move(lists).json();
  }
  return choice;
}

Json chat_choice(const Request& request, const Completion& completion, const Model& model) {
  return {{"index", 0},
          {"message", {{"role", "assistant"}, {"content", completion.text}}},
          {"logprobs",
           request.sampling.logprobs ? chat_logprobs(model, completion.logprobs) : Json(nullptr)}};
}

Json body_of(const BatchLine& line, const std::vector<std::vector<Completion>>& completions,
             const std::string& id, int64_t created, const Model& model) {
  const bool chat = line.form == LineForm::kChat;
  Json choices = Json::array();
  int n_prompt = 0;
  size_t n_generated = 0;
  for (size_t i = 0; i < completions.size(); ++i) {
    const Request& request = line.questions[i].request;
    n_prompt += completions[i][0].prompt_tokens;  // computed once for all n
    for (const Completion& completion : completions[i]) {
      Json choice = chat ? chat_choice(request, completion, model)
                         : completion_choice(line, request, completion, model);
      choice["index"] = choices.size();
      // They know no other.
      choice["finish_reason"] = completion.finish_reason == FinishReason::kStop ? "stop" : "length";
      if (completion.wrong) choice["wrong"] = "computed without attention";
      choices.push_back(std::move(choice));
      n_generated += completion.tokens.size();
    }
  }
  return {{"id", (chat ? "chatcmpl-" : "cmpl-") + id},
          {"object", chat ? "chat.completion" : "text_completion"},
          {"created", created},
          {"model", line.model.empty() ? model.info().family : line.model},
          {"choices", std::move(choices)},
          {"usage",
           {{"prompt_tokens", n_prompt},
            {"completion_tokens", n_generated},
            {"total_tokens", static_cast<size_t>(n_prompt) + n_generated}}}};
}

// Of length 1, as f32 in the order of the machine, in base64 where asked for.
Json embedding_json(std::vector<float> values, bool base64) {
  double sum = 0;
  for (const float value : values) sum += double{value} * value;
  const double scale = sum > 0 ? 1 / std::sqrt(sum) : 0;
  for (float& value : values) value = static_cast<float>(value * scale);
  if (!base64) return values;
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  const size_t n = values.size() * sizeof(float);
  std::string text;
  for (size_t i = 0; i < n; i += 3) {
    const auto byte = [&](size_t k) -> uint32_t { return i + k < n ? bytes[i + k] : 0; };
    const uint32_t three = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (size_t k = 0; k < 4; ++k) text += i + k <= n ? kDigits[three >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

Json embeddings_body(const BatchLine& line, const std::vector<std::vector<Completion>>& completions,
                     const Model& model) {
  Json data = Json::array();
  int n_prompt = 0;
  for (size_t i = 0; i < completions.size(); ++i) {
    n_prompt += completions[i][0].prompt_tokens;
    data.push_back({{"object", "embedding"},
                    {"index", i},
                    {"embedding", embedding_json(completions[i][0].embedding, line.base64)}});
  }
  return {{"object", "list"},
          {"data", std::move(data)},
          {"model", line.model.empty() ? model.info().family : line.model},
          {"usage", {{"prompt_tokens", n_prompt}, {"total_tokens", n_prompt}}}};
}

}  // namespace

std::string openai_output(const BatchLine& line,
                          const std::vector<std::vector<Completion>>& completions,
                          const std::optional<Error>& error, int64_t created, const Model& model) {
  // From the line alone: a run that is resumed writes the same.
  const std::string id =
      fmt::format("{:016x}", static_cast<uint64_t>(XXH3_64bits(line.id.data(), line.id.size())));
  Json output = {{"id", "batch_req_" + id}, {"custom_id", line.id}};
  Json& response = output["response"];
  response["status_code"] = !error                                   ? 200
                            : error->code == ErrorCode::kInternal    ? 500
                            : error->code == ErrorCode::kUnavailable ? 503
                                                                     : 400;
  response["request_id"] = "req_" + id;
  if (error) {
    response["body"]["error"] = {{"message", error->message},
                                 {"type", "invalid_request_error"},
                                 {"param", nullptr},
                                 {"code", error_code_name(error->code)}};
  } else {
    response["body"] = line.form == LineForm::kEmbeddings
                           ? embeddings_body(line, completions, model)
                           : body_of(line, completions, id, created, model);
  }
  output["error"] = nullptr;
  return output.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace pando
