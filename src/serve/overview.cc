#include "serve/overview.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "api/model_access.h"
#include "base/json.h"
#include "pando/version.h"
#include "serve/routes.h"

namespace pando::serve {
namespace {

constexpr std::string_view kDocumentation = "docs/http-api.md";

// The address that the client used. Other characters could end a word of a command line.
std::string address_of(const Service& service, const HttpRequest& request) {
  const bool is_plain = std::ranges::all_of(request.host, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view(".-_:[]").find(c) != std::string_view::npos;
  });
  return fmt::format("{}://{}", service.options.tls_key.empty() ? "http" : "https",
                     is_plain && !request.host.empty() ? request.host : "SERVER");
}

// A request that this model can answer. It contains the facts, so that small models answer it too.
std::pair<std::string_view, Json> example(const Model& model) {
  constexpr const char* kFact = "Velina works as a tailor.";
  constexpr const char* kQuestion = "What is the profession of Velina?";
  if (!model.has_tokenizer())
    return {"/v1/completions", {{"prompt", {1, 2, 3}}, {"max_tokens", 20}}};
  if (!chat_template_of(model))
    return {"/v1/completions",
            {{"prompt", fmt::format("{}\n\nQuestion: {}\nAnswer:", kFact, kQuestion)},
             {"max_tokens", 20}}};
  const Json message = {{"role", "user"}, {"content", fmt::format("{}\n\n{}", kFact, kQuestion)}};
  return {"/v1/chat/completions", {{"messages", Json::array({message})}}};
}

}  // namespace

HttpResponse overview(const Service& service, const HttpRequest& request) {
  std::vector<std::string> paths;
  for (const Route& route : routes())
    if (!route.is_of_page) paths.push_back(fmt::format("{} {}", route.method, route.path));
  const auto [path, body] = example(service.engine.model());
  const std::string line = fmt::format(
      "curl {}{} -H 'Content-Type: application/json'{} -d '{}'", address_of(service, request), path,
      service.options.api_keys.empty() ? "" : " -H 'Authorization: Bearer KEY'", body.dump());
  const std::vector<std::string>& names = service.options.model_names;
  const std::string text = fmt::format(
      "Pando {} serves {}.\n\nTry:\n  {}\n\nPaths:\n  {}\n\nDocumentation: {}\n", version(),
      fmt::join(names, ", "), line, fmt::join(paths, "\n  "), kDocumentation);
  return overview_response(request, text,
                           {{"name", "pando"},
                            {"version", version()},
                            {"models", names},
                            {"paths", paths},
                            {"example", line},
                            {"documentation", kDocumentation}});
}

HttpResponse overview_response(const HttpRequest& request, std::string text, const Json& json) {
  const bool as_json = request.accept.find("json") != std::string::npos;
  HttpResponse response =
      as_json ? json_response(json)
              : HttpResponse{.body = std::move(text), .content_type = "text/plain; charset=utf-8"};
  response.headers.emplace_back("Vary", "Accept");
  return response;
}

}  // namespace pando::serve
