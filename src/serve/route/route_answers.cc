#include "serve/route/route_answers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/json.h"
#include "pando/version.h"
#include "serve/route/replica_exchange.h"
#include "serve/route/route_door.h"
#include "serve/routes.h"

namespace pando::serve {
namespace {

constexpr std::chrono::milliseconds kMetricsTime{2000};  // for those of one replica

HttpResponse overview_of_router(const RouteDoor& door, const HttpRequest& request) {
  Json replicas = Json::array();
  std::string lines;
  for (const ReplicaOverview& facts : door.replicas.facts()) {
    const char* health = replica_health_name(facts.health);
    replicas.push_back({{"url", facts.name},
                        {"health", health},
                        {"models", facts.models},
                        {"requests", facts.n_requests}});
    if (!facts.problem.empty()) replicas.back()["problem"] = facts.problem;
    lines += fmt::format("\n  {} {} {}{}{}", facts.name, health, fmt::join(facts.models, ", "),
                         facts.problem.empty() ? "" : ": ", facts.problem);
  }
  if (request.accept.find("json") != std::string::npos)
    return json_response({{"name", "pando"},
                          {"version", version()},
                          {"replicas", std::move(replicas)},
                          {"documentation", "docs/many-machines.md"}});
  return {.body = fmt::format("Pando {} routes to:{}\n\nDocumentation: docs/many-machines.md\n",
                              version(), lines),
          .content_type = "text/plain; charset=utf-8"};
}

Json model_of(const RouteDoor& door, const std::pair<std::string, uint64_t>& model) {
  return {{"id", model.first},
          {"object", "model"},
          {"created", door.started},
          {"owned_by", "pando"},
          {"max_model_len", model.second}};
}

HttpResponse list_of_models(const RouteDoor& door, const HttpRequest&) {
  Json data = Json::array();
  for (const auto& model : door.replicas.models()) data.push_back(model_of(door, model));
  return json_response({{"object", "list"}, {"data", std::move(data)}});
}

HttpResponse one_model(const RouteDoor& door, const HttpRequest& request) {
  for (const auto& model : door.replicas.models())
    if (model.first == request.parameter) return json_response(model_of(door, model));
  return wrong_request(
      404, "model_not_found",
      fmt::format("the model '{}' is served by no replica", one_line(request.parameter)));
}

HttpResponse is_alive(const RouteDoor&, const HttpRequest&) {
  return json_response({{"status", "ok"}});
}

HttpResponse is_ready(const RouteDoor& door, const HttpRequest&) {
  if (door.draining) return error_response(shutting_down());
  if (!door.replicas.is_any_up())
    return error_response({503, "server_error", "no_replica", "no replica is ready"});
  return json_response({{"status", "ready"}});
}

HttpResponse version_of_router(const RouteDoor&, const HttpRequest&) {
  return json_response({{"version", version()}, {"commit", build_commit()}});
}

HttpResponse not_here(const RouteDoor&, const HttpRequest& request) {
  return wrong_request(404, "not_found",
                       fmt::format("a router has nothing at '{}'", one_line(request.path)));
}

// Metrics of replicas, asked all at once. Each coroutine holds it, so that one may end late.
struct AskedMetrics {
  explicit AskedMetrics(const boost::asio::any_io_executor& executor) : all_here(executor) {
    all_here.expires_at(boost::asio::steady_timer::time_point::max());
  }
  std::set<std::string> present;  // replicas that answered
  size_t n_asked = 0;
  boost::asio::steady_timer all_here;
};

boost::asio::awaitable<void> ask_metrics(RouteDoor& door, std::shared_ptr<AskedMetrics> asked,
                                         std::shared_ptr<Replica> replica) {
  const std::string& key = door.route.key;
  const std::string name = replica->name;
  ReplicaRequest request{.target = "/metrics"};
  if (!key.empty()) request.headers.emplace_back("Authorization", "Bearer " + key);
  ReplicaExchange exchange(std::move(replica));
  ReplicaHead head;
  std::string text;
  boost::system::error_code error = co_await exchange.ask(request, head, kMetricsTime);
  if (!error) error = co_await exchange.read_all(text);
  if (error || head.status != 200) co_return;
  door.kept_metrics.keep(name, std::move(text));
  asked->present.insert(name);
}

boost::asio::awaitable<void> answer_metrics(RouteDoor& door, HttpRequest&, Replier& replier) {
  const boost::asio::any_io_executor executor = co_await boost::asio::this_coro::executor;
  const auto asked = std::make_shared<AskedMetrics>(executor);
  for (const std::shared_ptr<Replica>& replica : door.replicas.up()) {
    ++asked->n_asked;
    boost::asio::co_spawn(executor, ask_metrics(door, asked, replica),
                          [asked](const std::exception_ptr&) {
                            if (--asked->n_asked == 0) asked->all_here.cancel();
                          });
  }
  if (asked->n_asked > 0)
    co_await asked->all_here.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
  HttpResponse response{
      .body = door.metrics.text(door.replicas.facts()) + door.kept_metrics.text(asked->present),
      .content_type = "text/plain; version=0.0.4; charset=utf-8"};
  co_await replier.send(std::move(response));
}

struct OwnPath {
  std::string_view method, path;  // of a route; no method: any
  HttpResponse (*answer)(const RouteDoor&, const HttpRequest&);
};
constexpr OwnPath kOwnPaths[] = {
    {"GET", "/", overview_of_router},
    {"GET", "/v1/models", list_of_models},
    {"GET", "/v1/models/{model}", one_model},
    {"GET", "/health", is_alive},
    {"GET", "/v1/health", is_alive},
    {"GET", "/ping", is_alive},
    {"GET", "/ready", is_ready},
    {"GET", "/version", version_of_router},
    {"", kReplicaPath, not_here},
    {"", "/v1/files", no_files_here},
    {"", "/v1/files/{file_id}", no_files_here},
    {"", "/v1/files/{file_id}/content", no_files_here},
    {"", "/v1/batches", no_files_here},
    {"", "/v1/batches/{batch_id}", no_files_here},
    {"", "/v1/batches/{batch_id}/cancel", no_files_here},
};

const OwnPath* find_own_path(const Route& route) {
  const auto own = std::ranges::find_if(kOwnPaths, [&](const OwnPath& one) {
    return one.path == route.path && (one.method.empty() || one.method == route.method);
  });
  return own == std::end(kOwnPaths) ? nullptr : own;
}

boost::asio::awaitable<void> answer_at_once(RouteDoor& door, HttpRequest& request,
                                            Replier& replier) {
  const OwnPath* own = find_own_path(*find_route(request.path, request.method));
  HttpResponse response = own->answer(door, request);
  co_await replier.send(std::move(response));
}

}  // namespace

HttpResponse no_files_here(const RouteDoor&, const HttpRequest&) {
  return wrong_request(404, "not_found",
                       "a router has no files and batches (hint: ask one of its servers itself)");
}

OwnAnswer* find_own_answer(const Route& route) {
  if (std::string_view(route.path) == "/metrics") return answer_metrics;
  return find_own_path(route) == nullptr ? nullptr : answer_at_once;
}

}  // namespace pando::serve
