// `pando route`.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/counted.h"
#include "base/errors.h"
#include "cli/commands.h"
#include "cli/line_writer.h"
#include "cli/model_options.h"
#include "cli/notify.h"
#include "cli/print_stderr.h"
#include "cli/server_options.h"
#include "serve/api_keys.h"
#include "serve/route/route_door.h"
#include "serve/server.h"

namespace pando::cli {
namespace {

struct RouteArguments : ServerArguments {
  serve::RouteOptions route;
  std::vector<std::string> replicas;
  std::string policy = "lars", router_key_file;
  int replica_timeout = 5, resolve_interval = 10;  // seconds
};

void add_replica_options(CLI::App& app, RouteArguments& o) {
  const std::string replicas = "Replicas";
  app.add_option(
         "--replica", o.replicas,
         "Address of a server, such as http://10.0.0.7:8000 or https://pando.internal:8443; "
         "a name may stand for many; may be repeated")
      ->allow_extra_args(false)
      ->group(replicas);
  app.add_option("--replicas-file", o.route.replicas_file,
                 "File with such addresses, one per line; SIGHUP reads it again")
      ->check(not_empty())
      ->group(replicas);
  app.add_option("--router-key-file", o.router_key_file,
                 "File whose first key the replicas take routed requests with")
      ->check(not_empty())
      ->group(replicas);
  app.add_option("--ca-file", o.route.ca_file,
                 "Certificate authorities in PEM, for replicas with TLS (default: the system's)")
      ->check(not_empty())
      ->group(replicas);
  app.add_option("--replica-timeout", o.replica_timeout,
                 "Seconds without a sign of life after which a replica's requests go elsewhere")
      ->check(at_least(1))
      ->capture_default_str()
      ->group(replicas);
  app.add_option("--resolve-interval", o.resolve_interval,
                 "Seconds between look-ups of the replicas' names")
      ->check(at_least(1))
      ->capture_default_str()
      ->group(replicas);
}

void add_route_options(CLI::App& app, RouteArguments& o) {
  add_address_options(app, o);
  app.add_option(
         "--policy", o.policy,
         "Where a request goes: round_robin (in turn), least_loaded (fewest open requests), "
         "prefix (the replica that holds most of the prompt) or lars (where the answer is "
         "predicted to end soonest)")
      ->check(one_of({"round_robin", "least_loaded", "prefix", "lars"}))
      ->capture_default_str();
  app.add_flag("--show-replica", o.route.show_replica,
               "Name the replica in the header X-Pando-Routed-To of each answer");
  add_log_option(app, o);
  add_replica_options(app, o);
  add_client_options(app, o);
  add_connection_options(app, o);
  app.add_option("--max-requests-per-key", o.route.max_requests_per_key,
                 "Maximum open requests of each API key, over all replicas; further ones get "
                 "status 429; 0: no limit")
      ->check(at_least(0))
      ->capture_default_str()
      ->group("Limits");
}

// The first key of the file.
Status read_router_key(const std::string& path, std::string& key) {
  std::vector<std::string> lines;
  if (Status status = read_key_lines("--router-key-file", path, lines); !status) return status;
  if (const auto keys = serve::ApiKeys::parse(lines); !keys)
    return in_file("--router-key-file: " + path, keys.error());
  for (const std::string& line : lines) {
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    const size_t colon = line.find(':');
    const size_t first =
        line.find_first_not_of(" \t\r", colon == std::string::npos ? 0 : colon + 1);
    key = line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
    return {};
  }
  return not_found("--router-key-file: {} has no keys", path);
}

int read_route_arguments(RouteArguments& o) {
  if (const int code = read_server_arguments(o); code != kOk) return code;
  if (o.replicas.empty() && o.route.replicas_file.empty())
    return report_error("no replicas, expected --replica URL or --replicas-file FILE"), kUsage;
  for (const std::string& text : o.replicas) {
    Result<serve::ReplicaUrl> url = serve::parse_replica_url(text);
    if (!url) return report_error("--replica: " + url.error().message()), kUsage;
    o.route.replicas.push_back(std::move(*url));
  }
  if (!o.router_key_file.empty())
    if (Status status = read_router_key(o.router_key_file, o.route.key); !status)
      return report_error(status.error());
  const Result<RoutePolicy> policy = route_policy_named(o.policy);
  if (!policy) return refuse(policy.error());
  o.route.router.policy = *policy;
  o.route.replica_timeout = std::chrono::seconds(o.replica_timeout);
  o.route.resolve_interval = std::chrono::seconds(o.resolve_interval);
  return kOk;
}

int route(RouteArguments o) {
  if (const int code = read_route_arguments(o); code != kOk) return code;
  // Each request takes a connection to a replica too.
  allow_connections(2 * o.server.max_connections);
  LineWriter log(STDERR_FILENO);
  o.server.log = [&log](const std::string& line) { log.put(line); };
  o.server.on_stop = [] { notify("STOPPING=1"); };
  Result<std::unique_ptr<serve::RouteDoor>> opened = serve::RouteDoor::open(o.server, o.route);
  if (!opened) return report_error(opened.error());
  const serve::RouteDoor& door = **opened;
  auto server = serve::Server::open(std::move(*opened));
  if (!server) return report_error(server.error());
  if (o.server.api_keys.empty() && !(*server)->is_local())
    print_stderr("pando: there are no API keys, so anyone who can reach {} can send requests\n",
                 o.server.host);
  print_stderr("pando: routing to {} at {}\n", counted(door.replicas.facts().size(), "replicas"),
               address_text(o.server, (*server)->port()));
  notify("READY=1");
  (*server)->run(/*stop_on_signals=*/true);
  return kOk;
}

}  // namespace

Command add_route(CLI::App& app) {
  auto options = std::make_shared<RouteArguments>();
  add_route_options(app, *options);
  app.footer(
      "Answers the API of pando serve by the servers that it is told (docs/many-machines.md).\n"
      "Where a request goes is decided by what each server holds of its prompt and by time.\n"
      "A stream whose server is lost goes on at another with the same bits.\n"
      "SIGTERM and Ctrl-C finish running requests and stop; a second signal stops at once.\n"
      "Exit codes: 0 stopped by a signal while serving, 1 did not start, 2 wrong usage.\n"
      "Example:\n"
      "  pando route --replica http://10.0.0.7:8000 --replica http://10.0.0.8:8000");
  return [options] { return route(*options); };
}

}  // namespace pando::cli
