#include "serve/models/set_answers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ask/errors.h"
#include "ask/ollama_body.h"
#include "ask/unknown_fields.h"
#include "base/errors.h"
#include "base/json.h"
#include "pando/version.h"
#include "serve/door_info.h"
#include "serve/overview.h"
#include "serve/page.h"

namespace pando::serve {
namespace {

using Facts = ModelShelf::Facts;

Json set_object(const ModelSet& set, const Facts& facts) {
  Json status = {{"value", model_state_name(facts.state)}};
  if (facts.has_failed) status["failed"] = true;
  Json object = {{"id", facts.name},
                 {"object", "model"},
                 {"created", set.started},
                 {"owned_by", "pando"},
                 {"status", std::move(status)}};
  if (facts.served) object["max_model_len"] = facts.served->service->longest();
  if (!facts.capabilities.empty()) object["capabilities"] = facts.capabilities;
  return object;
}

HttpResponse list_set(const ModelSet& set, const HttpRequest&) {
  Json data = Json::array();
  for (const Facts& facts : set.shelf.facts()) data.push_back(set_object(set, facts));
  return json_response({{"object", "list"}, {"data", std::move(data)}});
}

HttpResponse one_of_set(const ModelSet& set, const HttpRequest& request) {
  const std::optional<size_t> model = set.shelf.find(request.parameter);
  if (!model) return wrong_request(404, "model_not_found", set.not_served(request.parameter));
  return json_response(set_object(set, set.shelf.facts()[*model]));
}

HttpResponse tags_of_set(const ModelSet& set, const HttpRequest&) {
  Json models = Json::array();
  for (const Facts& facts : set.shelf.facts()) {
    if (facts.served) {
      models.push_back(ollama_model(*facts.served->service, facts.name));
      continue;
    }
    models.push_back({{"name", facts.name},
                      {"model", facts.name},
                      {"modified_at", ask::ollama_time(set.started)}});
    if (facts.n_weight_bytes > 0) models.back()["size"] = facts.n_weight_bytes;
  }
  return json_response({{"models", std::move(models)}});
}

HttpResponse running_of_set(const ModelSet& set, const HttpRequest&) {
  Json models = Json::array();
  for (const Facts& facts : set.shelf.facts())
    if (facts.served) models.push_back(ollama_running(*facts.served->service, facts.name));
  return json_response({{"models", std::move(models)}});
}

HttpResponse not_of_set(const ModelSet&, const HttpRequest& request) {
  return wrong_request(
      404, "not_found",
      fmt::format("a server of several models has nothing at '{}'", one_line(request.path)));
}

// Says that each replica of a router must have exactly one model.
HttpResponse set_is_no_replica(const ModelSet&, const HttpRequest&) {
  return wrong_request(404, "not_found",
                       "a server of several models cannot be used behind a router, expected a "
                       "server of one model");
}

HttpResponse set_overview(const ModelSet& set, const HttpRequest& request) {
  if (opens_page(set.options, request)) return *page_response("index.html", request);
  std::vector<std::string> paths;
  for (const Route& route : routes())
    if (!route.is_of_page) paths.push_back(fmt::format("{} {}", route.method, route.path));
  Json models = Json::array();
  std::string lines;
  for (const Facts& facts : set.shelf.facts()) {
    models.push_back(facts.name);
    lines += fmt::format("\n  {} ({})", facts.name, model_state_name(facts.state));
  }
  const std::string text =
      fmt::format("Pando {} serves:{}\n\nPaths:\n  {}\n\nDocumentation: docs/http-api.md\n",
                  version(), lines, fmt::join(paths, "\n  "));
  return overview_response(request, text,
                           {{"name", "pando"},
                            {"version", version()},
                            {"models", std::move(models)},
                            {"paths", paths},
                            {"documentation", "docs/http-api.md"}});
}

HttpResponse set_page_part(const ModelSet& set, const HttpRequest& request) {
  std::optional<HttpResponse> response = page_response(request.parameter, request);
  return response ? std::move(*response) : not_of_set(set, request);
}

HttpResponse set_is_alive(const ModelSet&, const HttpRequest&) {
  return json_response({{"status", "ok"}});
}

HttpResponse set_is_ready(const ModelSet& set, const HttpRequest&) {
  if (set.draining) return error_response(shutting_down());
  return json_response({{"status", "ready"}});
}

HttpResponse set_version(const ModelSet&, const HttpRequest&) {
  return json_response({{"version", version()}, {"commit", build_commit()}});
}

HttpResponse ollama_set_version(const ModelSet&, const HttpRequest&) {
  return json_response({{"version", version()}});
}

HttpResponse set_metrics(const ModelSet& set, const HttpRequest&) {
  return {.body = set.metrics.text(set.shelf, set.connections.size(), set.body_memory.n_bytes()),
          .content_type = "text/plain; version=0.0.4; charset=utf-8"};
}

struct SetPath {
  std::string_view method, path;  // of a route
  SetAnswer* answer;
};
constexpr SetPath kSetPaths[] = {
    {"GET", "/", set_overview},
    {"GET", "/v1/models", list_set},
    {"GET", "/v1/models/{model}", one_of_set},
    {"GET", "/api/tags", tags_of_set},
    {"GET", "/api/ps", running_of_set},
    {"GET", "/api/version", ollama_set_version},
    {"GET", "/version", set_version},
    {"GET", "/metrics", set_metrics},
    {"GET", "/health", set_is_alive},
    {"GET", "/v1/health", set_is_alive},
    {"GET", "/ping", set_is_alive},
    {"GET", "/ready", set_is_ready},
    {"GET", "/page/{name}", set_page_part},
    {"POST", kReplicaPath, set_is_no_replica},
};

}  // namespace

SetAnswer* find_set_answer(const Route& route) {
  const auto* found = std::ranges::find_if(kSetPaths, [&](const SetPath& one) {
    return one.path == route.path && one.method == route.method;
  });
  return found == std::end(kSetPaths) ? nullptr : found->answer;
}

HttpResponse answer_kept(ModelSet& set, const Route& route, const HttpRequest& request) {
  const auto refusal = [](const Error& error) { return error_response(ask::http_error(error)); };
  Json json;
  if (std::string_view(route.method) == "POST" && request.upload == nullptr &&
      !(route.may_lack_body && request.body.empty())) {
    Result<Json> parsed = parse_json(request.body, LargeNumbers::kKept);
    if (!parsed)
      return refusal(in_file("the body", with_code(ErrorCode::kInvalidArgument, parsed.error())));
    json = std::move(*parsed);
    if (!json.is_object())
      return refusal(invalid_argument("the body is {}, expected an object", found_text(json)));
  }
  Result<HttpResponse> response = route.answer_kept(set, request, json);
  constexpr size_t kMostIgnored = 64;
  for (size_t n = 0; n < kMostIgnored && !response && set.options.lenient; ++n) {
    if (ask::remove_unknown_field(json, response.error()).empty()) break;
    response = route.answer_kept(set, request, json);
  }
  take_apart(json);
  return response ? std::move(*response) : refusal(response.error());
}

}  // namespace pando::serve
