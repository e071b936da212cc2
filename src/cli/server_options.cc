#include "cli/server_options.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/byte_order_mark.h"
#include "base/errors.h"
#include "cli/exit_code.h"
#include "cli/model_options.h"
#include "pando/values/limits.h"

namespace pando::cli {

void add_address_options(CLI::App& app, ServerArguments& o) {
  app.add_option("--host", o.server.host, "Address to listen on")
      ->check(not_empty("an address"))
      ->capture_default_str();
  app.add_option("--port", o.server.port, "Port to listen on; 0: any free port")
      ->check(expect("0 to 65535", [](double x) { return x >= 0 && x <= 65535; }))
      ->capture_default_str();
}

void add_log_option(CLI::App& app, ServerArguments& o) {
  app.add_option("--log", o.log,
                 "Log lines on standard error: one per request, only errors, or none")
      ->check(one_of({"requests", "errors", "none"}))
      ->capture_default_str();
}

void add_client_options(CLI::App& app, ServerArguments& o) {
  const std::string access = "Access";
  app.add_option("--api-key-file", o.api_key_file,
                 "File with API keys, one per line, as name:key or key; without it anyone can send "
                 "requests")
      ->check(not_empty())
      ->group(access);
  app.add_option(
         "--allow-host", o.server.allowed_hosts,
         "Another host name that requests may use, besides the address and localhost; checked only "
         "without API keys and when the server listens on this machine alone; may be repeated")
      ->group(access);
  app.add_option("--cors-origin", o.server.cors_origins,
                 "Origin of web pages that may send requests from a browser, such as "
                 "https://example.org, or * for all; may be repeated")
      ->allow_extra_args(false)
      ->group(access);
  app.add_option("--tls-cert", o.server.tls_certificate,
                 "Certificate file in PEM; serves over TLS only")
      ->check(not_empty())
      ->group(access);
  app.add_option("--tls-key", o.server.tls_key, "Key file of the certificate, in PEM")
      ->check(not_empty())
      ->group(access);
}

void add_connection_options(CLI::App& app, ServerArguments& o) {
  const std::string limits = "Limits";
  const CLI::Validator positive = at_least(1);
  const auto bytes = [](size_t n) { return fmt::format("{}KiB", n >> 10); };
  app.add_option("--max-connections", o.server.max_connections,
                 "Maximum open connections; further ones wait")
      ->check(positive)
      ->capture_default_str()
      ->group(limits);
  app.add_option("--max-body", o.server.max_body_bytes,
                 "Maximum size of a request body, such as 32MiB")
      ->transform(size_in_bytes())
      ->check(positive)
      ->default_str(bytes(o.server.max_body_bytes))
      ->group(limits);
  app.add_option("--max-header", o.server.max_header_bytes,
                 "Maximum size of request headers, such as 16KiB")
      ->transform(size_in_bytes())
      ->check(positive)
      ->default_str(bytes(o.server.max_header_bytes))
      ->group(limits);
  app.add_option("--request-timeout", o.request_timeout, "Maximum seconds per request")
      ->check(positive)
      ->capture_default_str()
      ->group(limits);
  app.add_option("--drain-timeout", o.drain_timeout,
                 "Seconds to finish running requests when the server is stopped")
      ->check(positive)
      ->capture_default_str()
      ->group(limits);
  app.add_option("--io-threads", o.server.io_threads, "Threads for connections")
      ->check(expect(fmt::format("1 to {}", kMostThreads),
                     [](double x) { return x >= 1 && x <= kMostThreads; }))
      ->capture_default_str()
      ->group(limits);
}

Status read_key_lines(const char* option, const std::string& path,
                      std::vector<std::string>& lines) {
  std::ifstream file(path);
  if (!file) return not_found("{}: cannot read {}: {}", option, path, std::strerror(errno));
  for (std::string line; std::getline(file, line);) lines.push_back(std::move(line));
  if (lines.empty()) return {};
  const Result<std::string_view> plain = without_mark(lines[0]);
  if (!plain) return in_file(fmt::format("{}: {}", option, path), plain.error());
  lines[0] = std::string(*plain);
  return {};
}

int read_server_arguments(ServerArguments& o) {
  if (o.server.tls_certificate.empty() != o.server.tls_key.empty())
    return report_error("--tls-cert and --tls-key must be given together"), kUsage;
  if (!o.api_key_file.empty()) {
    if (Status status = read_key_lines("--api-key-file", o.api_key_file, o.server.api_keys);
        !status)
      return report_error(status.error());
    if (o.server.api_keys.empty())
      return report_error("--api-key-file: " + o.api_key_file + " has no keys");
  }
  if (o.server.host.starts_with('[') && o.server.host.ends_with(']'))
    o.server.host = o.server.host.substr(1, o.server.host.size() - 2);
  o.server.request_timeout = std::chrono::seconds(o.request_timeout);
  o.server.drain_timeout = std::chrono::seconds(o.drain_timeout);
  o.server.log_requests = o.log == "none"     ? serve::LogRequests::kNone
                          : o.log == "errors" ? serve::LogRequests::kErrors
                                              : serve::LogRequests::kAll;
  return kOk;
}

std::string address_text(const serve::ServerOptions& options, uint16_t port) {
  const bool is_bare_v6 = options.host.find(':') != std::string::npos;
  return fmt::format("{}://{}:{}", options.tls_key.empty() ? "http" : "https",
                     is_bare_v6 ? "[" + options.host + "]" : options.host, port);
}

void allow_connections(size_t n_connections) {
  constexpr rlim_t kOthers = 64;  // many systems allow 1,024 where nobody asks for more
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, n_connections + kOthers));
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace pando::cli
