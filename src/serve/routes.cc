#include "serve/routes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/model_access.h"
#include "api/prompt.h"
#include "ask/chat_fields.h"
#include "ask/errors.h"
#include "ask/sampling_fields.h"
#include "base/errors.h"
#include "base/fields.h"
#include "base/json.h"
#include "base/nearest.h"
#include "pando/version.h"
#include "serve/overview.h"
#include "text/stream_decoder.h"

namespace pando::serve {
namespace {

constexpr std::string_view kVersion = "/v1", kModels = "/v1/models";

Json model_object(const Service& service, const std::string& name) {
  return {{"id", name},
          {"object", "model"},
          {"created", service.started},
          {"owned_by", "pando"},
          {"max_model_len", service.longest()}};
}

Result<HttpResponse> models(Service& service, const HttpRequest& request, const Json&) {
  if (request.path == kModels) {
    Json data = Json::array();
    for (const std::string& name : service.options.model_names)
      data.push_back(model_object(service, name));
    return json_response({{"object", "list"}, {"data", std::move(data)}});
  }
  const std::string name = unescaped(request.path.substr(kModels.size() + 1));
  if (!service.serves(name)) return wrong_request(404, "model_not_found", service.not_served(name));
  return json_response(model_object(service, name));
}

Result<HttpResponse> root(Service& service, const HttpRequest& request, const Json&) {
  return overview(service, request);
}

Result<HttpResponse> health(Service&, const HttpRequest&, const Json&) {
  return json_response({{"status", "ok"}});
}

Result<HttpResponse> ready(Service& service, const HttpRequest&, const Json&) {
  if (service.draining) return error_response(shutting_down());
  return json_response({{"status", "ready"}});
}

Result<HttpResponse> version_of(Service&, const HttpRequest&, const Json&) {
  return json_response({{"version", version()}, {"commit", build_commit()}});
}

Result<HttpResponse> metrics(Service& service, const HttpRequest&, const Json&) {
  return HttpResponse{
      .body = service.metrics.text(service.connections.size(), service.body_memory.n_bytes()),
      .content_type = "text/plain; version=0.0.4; charset=utf-8"};
}

Result<HttpResponse> tokenize(Service& service, const HttpRequest&, const Json& body) {
  const Model& model = service.engine.model();
  Fields fields(body);
  Request request;
  std::string ignored;
  bool add_special = false, with_texts = false;
  fields.text("model", ignored);
  fields.text("prompt", request.prompt);
  fields.flag("add_special_tokens", add_special);
  if (fields.has("add_special_tokens")) request.add_special_tokens = add_special;
  fields.flag("return_token_strs", with_texts);
  ask::read_chat_options(fields, request.chat);
  constexpr ask::OtherName kOtherNames[] = {{"text", "prompt"},
                                            {"content", "prompt"},
                                            {"input", "prompt"},
                                            {"with_pieces", "return_token_strs"},
                                            {"add_special", "add_special_tokens"}};
  ask::refuse_other_names(fields, kOtherNames);
  fields.only(std::initializer_list<std::string_view>{
      "model", "prompt", "messages", "add_special_tokens", "add_generation_prompt",
      "continue_final_message", "return_token_strs", "chat_template_kwargs", "tools", "tool_choice",
      "documents"});
  if (!fields.status()) return fields.status().error();
  if (fields.has("prompt") == fields.has("messages"))
    return invalid_argument(
        "the body has both or neither of 'prompt' and 'messages', expected one");
  if (fields.has("messages")) {
    Result<std::vector<ChatMessage>> messages = ask::read_messages(body["messages"]);
    if (!messages) return messages.error();
    request.messages = std::move(*messages);
  }
  // Of an empty text too there is what stands around it.
  const Result<std::vector<Token>> tokens =
      request.messages.empty() && request.prompt.empty()
          ? model.encode("", request.add_special_tokens.value_or(true))
          : encode_prompt(model, request);
  if (!tokens) {
    if (!tokens.error().field.empty()) return tokens.error();
    return blame(request.messages.empty() ? "prompt" : "messages", tokens.error());
  }
  ListText ids;
  for (const Token token : *tokens) ids.add(token);
  Json reply = {
      {"count", tokens->size()}, {"max_model_len", service.longest()}, {"tokens", ids.take()}};
  if (with_texts) {
    ListText texts;
    for (const Token token : *tokens) texts.add(model.piece(token).value());
    reply["token_strs"] = texts.take();
  }
  return json_response(reply);
}

// What evaluation harnesses ask, to have texts tokenised here.
Result<HttpResponse> tokenizer_info(Service& service, const HttpRequest&, const Json&) {
  const Model& model = service.engine.model();
  if (!model.has_tokenizer())
    return make_error(ErrorCode::kUnsupported, "the model has no tokenizer");
  const Tokenizer& tokenizer = *tokenizer_of(model);
  std::optional<Token> end;
  if (!tokenizer.end_tokens().empty()) end = tokenizer.end_tokens().front();
  if (const auto& ids = spec_of(model).eos_ids; !ids.empty()) end = ids.front();
  const auto text = [&](std::optional<Token> token) {
    return token ? Json(decode(tokenizer, {&*token, 1}, /*skip_special=*/false)) : Json(nullptr);
  };
  return json_response({{"bos_token", text(tokenizer.bos())}, {"eos_token", text(end)}});
}

Result<HttpResponse> detokenize(Service& service, const HttpRequest&, const Json& body) {
  Fields fields(body);
  std::string ignored;
  std::vector<Token> tokens;
  fields.text("model", ignored);
  fields.tokens("tokens", tokens);
  constexpr ask::OtherName kOtherNames[] = {
      {"ids", "tokens"}, {"token_ids", "tokens"}, {"input_ids", "tokens"}};
  ask::refuse_other_names(fields, kOtherNames);
  fields.only(std::initializer_list<std::string_view>{"model", "tokens"});
  if (!fields.status()) return fields.status().error();
  if (!fields.has("tokens")) return ask::missing_field("tokens");
  const Model& model = service.engine.model();
  const Tokenizer* tokenizer = tokenizer_of(model);
  const int n_vocab =
      std::max(model.info().vocab, tokenizer == nullptr ? 0 : tokenizer->vocab_size());
  for (const Token token : tokens)
    if (token >= n_vocab)
      return invalid_field("tokens", "has {}, expected 0 to {}", token, n_vocab - 1);
  const Result<std::string> text = model.decode(tokens);
  if (!text) return text.error();
  return json_response({{"prompt", *text}});
}

constexpr Route kRoutes[] = {
    {"/v1/completions", "POST", ask::read_completions_body},
    {"/v1/chat/completions", "POST", ask::read_chat_body},
    {"/v1/embeddings", "POST", ask::read_embeddings_body},
    {"/v1/rerank", "POST", ask::read_rerank_body},
    {"/rerank", "POST", ask::read_rerank_body},
    {"/v2/rerank", "POST", ask::read_cohere_rerank_body},
    {"/v1/score", "POST", ask::read_score_body},
    {"/score", "POST", ask::read_score_body},
    {"/v1/answers", "POST", ask::read_answers_body},
    {"/v1/models", "GET", nullptr, models},
    {"/tokenize", "POST", nullptr, tokenize},
    {"/detokenize", "POST", nullptr, detokenize},
    {"/tokenizer_info", "GET", nullptr, tokenizer_info},
    {"/", "GET", nullptr, root},
    {"/version", "GET", nullptr, version_of},
    {"/metrics", "GET", nullptr, metrics},
    {"/health", "GET", nullptr, health, /*open=*/true},
    {"/v1/health", "GET", nullptr, health, /*open=*/true},
    {"/ping", "GET", nullptr, health, /*open=*/true},
    {"/ready", "GET", nullptr, ready, /*open=*/true},
};

}  // namespace

std::span<const Route> routes() { return kRoutes; }

const Route* find_route(std::string_view path) {
  if (path.starts_with(kModels) && path.size() > kModels.size() + 1 && path[kModels.size()] == '/')
    path = kModels;
  for (const Route& route : kRoutes)
    if (path == route.path) return &route;
  return nullptr;
}

// Paths of other APIs, and the one that does the same here.
constexpr std::pair<std::string_view, std::string_view> kOfOthers[] = {
    {"/v1/responses", "/v1/chat/completions"},
    {"/responses", "/v1/chat/completions"},
    {"/v1/messages", "/v1/chat/completions"},
    {"/api/chat", "/v1/chat/completions"},
    {"/api/generate", "/v1/completions"},
    {"/completion", "/v1/completions"},
    {"/api/embed", "/v1/embeddings"},
    {"/embed", "/v1/embeddings"},
    {"/api/tags", "/v1/models"}};

std::string meant_path(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  while (path.starts_with("//")) path.remove_prefix(1);
  for (const auto& [of_others, own] : kOfOthers)
    if (path == of_others) return std::string(own);
  const std::string_view whole = path;
  while (path.starts_with(kVersion)) path.remove_prefix(kVersion.size());
  for (const std::string_view begin : {kVersion, std::string_view()})
    if (std::string meant = std::string(begin).append(path); find_route(meant) != nullptr)
      return meant;
  constexpr size_t kLeast = 5;  // characters: a shorter path is near too many others
  if (whole.size() < kLeast) return {};
  std::vector<std::string_view> known;
  for (const Route& route : kRoutes) known.push_back(route.path);
  return std::string(nearest_name(whole, known));
}

}  // namespace pando::serve
