#include "serve/routes.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "api/model_access.h"
#include "ask/cohere_body.h"
#include "ask/ollama_body.h"
#include "ask/responses_body.h"
#include "ask/tei_body.h"
#include "ask/tgi_body.h"
#include "ask/tokenize_body.h"
#include "base/errors.h"
#include "base/json.h"
#include "base/nearest.h"
#include "pando/version.h"
#include "serve/batch_routes.h"
#include "serve/door_info.h"
#include "serve/file_routes.h"
#include "serve/overview.h"
#include "serve/page.h"
#include "serve/replica_report.h"
#include "serve/stored_responses.h"
#include "text/stream_decoder.h"

namespace pando::serve {
namespace {

constexpr std::string_view kVersion = "/v1";

// True if the path has this form. A parameter stands for one character or more.
bool fits(std::string_view path, std::string_view form) {
  const size_t begin = form.find('{');
  if (begin == std::string_view::npos) return path == form;
  const std::string_view end = form.substr(form.find('}') + 1);
  return path.size() > begin + end.size() && path.starts_with(form.substr(0, begin)) &&
         path.ends_with(end);
}

Json model_object(const Service& service, const std::string& name) {
  return {{"id", name},
          {"object", "model"},
          {"created", service.started},
          {"owned_by", "pando"},
          {"max_model_len", service.longest()},
          {"capabilities", model_capabilities(service.engine.model())}};
}

Result<HttpResponse> models(Service& service, const HttpRequest&, const Json&) {
  Json data = Json::array();
  for (const std::string& name : service.options.model_names)
    data.push_back(model_object(service, name));
  return json_response({{"object", "list"}, {"data", std::move(data)}});
}

Result<HttpResponse> model(Service& service, const HttpRequest& request, const Json&) {
  const std::string& name = request.parameter;
  if (!service.serves(name)) return wrong_request(404, "model_not_found", service.not_served(name));
  return json_response(model_object(service, name));
}

Result<HttpResponse> root(Service& service, const HttpRequest& request, const Json&) {
  if (opens_page(service.options, request)) return *page_response("index.html", request);
  return overview(service, request);
}

Result<HttpResponse> page_part(Service&, const HttpRequest& request, const Json&) {
  std::optional<HttpResponse> response = page_response(request.parameter, request);
  if (!response)
    return wrong_request(404, "not_found",
                         fmt::format("there is nothing at '{}'", one_line(request.path)));
  return std::move(*response);
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

// A reply, or why there is none.
Result<HttpResponse> response_of(const Result<Json>& reply) {
  if (!reply) return reply.error();
  return json_response(*reply);
}

Result<HttpResponse> tokenize(Service& service, const HttpRequest&, const Json& body) {
  return response_of(ask::tokenize(service.engine.model(), service.longest(), body));
}

Result<HttpResponse> count_tokens(Service& service, const HttpRequest& request, const Json& body) {
  ask::Bounds bounds;
  const std::function<bool()> given_up = [&] { return request.is_given_up.load(); };
  return response_of(
      ask::count_anthropic_tokens(body, {.model = service.engine.model(),
                                         .context = static_cast<int>(service.longest()),
                                         .max_answers = service.engine.options().max_open,
                                         .envelope = {},
                                         .bounds = bounds,
                                         .defaults = service.options.defaults,
                                         .given_up = given_up}));
}

Result<HttpResponse> detokenize(Service& service, const HttpRequest&, const Json& body) {
  return response_of(ask::detokenize(service.engine.model(), body));
}

// Evaluation harnesses ask this, to have texts tokenised here.
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

constexpr Route kRoutes[] = {
    {"/v1/completions", "POST", ask::read_completions_body},
    {"/v1/chat/completions", "POST", ask::read_chat_body},
    {.path = "/v1/responses",
     .method = "POST",
     .read_body = ask::read_responses_body,
     .errors = &ask::kResponsesErrors},
    {.path = "/v1/responses/{response_id}/input_items",
     .method = "GET",
     .answer_kept = get_input_items},
    {.path = "/v1/responses/{response_id}",
     .method = "GET",
     .answer_kept = get_response},
    {.path = "/v1/responses/{response_id}",
     .method = "DELETE",
     .answer_kept = delete_response},
    {"/v1/embeddings", "POST", ask::read_embeddings_body},
    {"/v1/rerank", "POST", ask::read_rerank_body},
    {"/rerank", "POST", ask::read_rerank_body},
    {"/v2/rerank", "POST", ask::read_cohere_rerank_body},
    {"/v1/classify", "POST", ask::read_classify_body},
    {"/classify", "POST", ask::read_classify_body},
    {"/v1/score", "POST", ask::read_score_body},
    {"/score", "POST", ask::read_score_body},
    {"/v1/answers", "POST", ask::read_answers_body},
    {.path = "/v1/messages",
     .method = "POST",
     .read_body = ask::read_anthropic_body,
     .errors = &ask::kAnthropicErrors},
    {.path = "/v1/messages/count_tokens",
     .method = "POST",
     .answer = count_tokens,
     .errors = &ask::kAnthropicErrors},
    {.path = "/v1/files",
     .method = "POST",
     .answer_kept = create_file,
     .takes_form = true},
    {.path = "/v1/files", .method = "GET", .answer_kept = list_files},
    {.path = "/v1/files/{file_id}/content",
     .method = "GET",
     .answer_kept = get_file_content},
    {.path = "/v1/files/{file_id}", .method = "GET", .answer_kept = get_file},
    {.path = "/v1/files/{file_id}", .method = "DELETE", .answer_kept = delete_file},
    {.path = "/v1/batches", .method = "POST", .answer_kept = create_batch},
    {.path = "/v1/batches", .method = "GET", .answer_kept = list_batches},
    {.path = "/v1/batches/{batch_id}/cancel",
     .method = "POST",
     .answer_kept = cancel_batch,
     .may_lack_body = true},
    {.path = "/v1/batches/{batch_id}", .method = "GET", .answer_kept = get_batch},
    {"/v1/fim/completions", "POST", ask::read_fim_body},
    {.path = "/embed",
     .method = "POST",
     .read_body = ask::read_tei_body,
     .errors = &ask::kTeiErrors},
    {.path = "/embed_all",
     .method = "POST",
     .read_body = ask::read_tei_tokens_body,
     .errors = &ask::kTeiErrors},
    {.path = "/embed_sparse",
     .method = "POST",
     .read_body = ask::read_tei_weights_body,
     .errors = &ask::kTeiErrors},
    {.path = "/predict",
     .method = "POST",
     .read_body = ask::read_tei_predict_body,
     .errors = &ask::kTeiErrors},
    {.path = "/generate",
     .method = "POST",
     .read_body = ask::read_tgi_body,
     .errors = &ask::kTgiErrors},
    {.path = "/generate_stream",
     .method = "POST",
     .read_body = ask::read_tgi_stream_body,
     .errors = &ask::kTgiErrors},
    {.path = "/info", .method = "GET", .answer = inference_info, .errors = &ask::kTgiErrors},
    {.path = "/v2/chat",
     .method = "POST",
     .read_body = ask::read_cohere_chat_body,
     .errors = &ask::kCohereErrors},
    {.path = "/v2/embed",
     .method = "POST",
     .read_body = ask::read_cohere_embed_body,
     .errors = &ask::kCohereErrors},
    {.path = "/api/chat",
     .method = "POST",
     .read_body = ask::read_ollama_chat_body,
     .errors = &ask::kOllamaErrors},
    {.path = "/api/generate",
     .method = "POST",
     .read_body = ask::read_ollama_generate_body,
     .errors = &ask::kOllamaErrors},
    {.path = "/api/embed",
     .method = "POST",
     .read_body = ask::read_ollama_embed_body,
     .errors = &ask::kOllamaErrors},
    {.path = "/api/embeddings",
     .method = "POST",
     .read_body = ask::read_ollama_embedding_body,
     .errors = &ask::kOllamaErrors},
    {.path = "/api/show", .method = "POST", .answer = ollama_show, .errors = &ask::kOllamaErrors},
    {.path = "/api/tags", .method = "GET", .answer = ollama_tags, .errors = &ask::kOllamaErrors},
    {.path = "/api/ps", .method = "GET", .answer = ollama_ps, .errors = &ask::kOllamaErrors},
    {.path = "/api/version",
     .method = "GET",
     .answer = ollama_version,
     .errors = &ask::kOllamaErrors},
    {"/completion", "POST", ask::read_llama_completion_body},
    {"/infill", "POST", ask::read_llama_infill_body},
    {"/props", "GET", nullptr, llama_props},
    {"/slots", "GET", nullptr, llama_slots},
    {"/v1/models", "GET", nullptr, models},
    {"/v1/models/{model}", "GET", nullptr, model},
    {.path = kReplicaPath, .method = "POST", .answer = replica_report, .while_draining = true},
    {"/tokenize", "POST", nullptr, tokenize},
    {"/detokenize", "POST", nullptr, detokenize},
    {"/tokenizer_info", "GET", nullptr, tokenizer_info},
    {"/", "GET", nullptr, root},
    {.path = "/",
     .method = "POST",
     .read_body = ask::read_inference_body,
     .errors = &ask::kTgiErrors},
    {.path = "/page/{name}",
     .method = "GET",
     .answer = page_part,
     .open = true,
     .is_of_page = true},
    {"/version", "GET", nullptr, version_of},
    {"/metrics", "GET", nullptr, metrics},
    {.path = "/health", .method = "GET", .answer = health, .open = true},
    {.path = "/v1/health", .method = "GET", .answer = health, .open = true},
    {.path = "/ping", .method = "GET", .answer = health, .open = true},
    {.path = "/ready", .method = "GET", .answer = ready, .open = true},
};

}  // namespace

std::span<const Route> routes() { return kRoutes; }

const Route* find_route(std::string_view path, std::string_view method) {
  const auto first =
      std::ranges::find_if(kRoutes, [&](const Route& route) { return fits(path, route.path); });
  if (first == std::end(kRoutes)) return nullptr;
  if (is_head(method)) method = "GET";
  for (const Route& route : kRoutes)
    if (std::string_view(route.path) == first->path && method == route.method) return &route;
  return first;
}

const ask::ErrorForm& errors_of(std::string_view path, std::string_view method) {
  constexpr std::pair<std::string_view, const ask::ErrorForm*> kBeginnings[] = {
      {"/api/", &ask::kOllamaErrors},
      {"/v1/messages/", &ask::kAnthropicErrors},
      {"/v2/", &ask::kCohereErrors}};
  if (const Route* route = find_route(path, method)) return *route->errors;
  const auto* found = std::ranges::find_if(
      kBeginnings, [&](const auto& beginning) { return path.starts_with(beginning.first); });
  return found == std::end(kBeginnings) ? ask::kOpenAiErrors : *found->second;
}

std::string parameter_of(const Route& route, std::string_view path) {
  const std::string_view form = route.path;
  const size_t begin = form.find('{');
  if (begin == std::string_view::npos) return {};
  const size_t n_behind = form.size() - form.find('}') - 1;
  return unescaped(path.substr(begin, path.size() - begin - n_behind));
}

std::string methods_of(const Route& route) {
  std::string methods;
  for (const Route& other : kRoutes) {
    if (std::string_view(other.path) != route.path) continue;
    methods += methods.empty() ? "" : ", ";
    methods += std::string_view(other.method) == "GET" ? "GET, HEAD" : other.method;
  }
  return methods;
}

std::string meant_path(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  while (path.starts_with("//")) path.remove_prefix(1);
  const std::string_view whole = path;
  while (path.starts_with(kVersion)) path.remove_prefix(kVersion.size());
  for (const std::string_view begin : {kVersion, std::string_view()})
    if (std::string meant = std::string(begin).append(path); find_route(meant, "GET") != nullptr)
      return meant;
  constexpr size_t kLeast = 5;  // characters: a shorter path is near too many others
  if (whole.size() < kLeast) return {};
  std::vector<std::string_view> known;
  for (const Route& route : kRoutes) known.push_back(route.path);
  return std::string(nearest_name(whole, known));
}

}  // namespace pando::serve
