#include "serve/route/replica_url.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include "base/errors.h"

namespace pando::serve {
namespace {

struct UrlScheme {
  std::string_view begin;
  bool is_tls;
  uint16_t port;
};
constexpr UrlScheme kUrlSchemes[] = {{"http://", false, 80}, {"https://", true, 443}};

Error not_a_url(std::string_view text) {
  return invalid_argument("'{}' is no address of a replica, expected http://HOST:PORT",
                          one_line(text));
}

// False for text that is no port.
bool read_port(std::string_view text, uint16_t& port) {
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, port);
  return at == end && error == std::errc() && port != 0;
}

bool is_host(std::string_view text) {
  return !text.empty() && text.find_first_of("/?#@ \t[]") == std::string_view::npos;
}

}  // namespace

std::string ReplicaUrl::authority() const {
  return fmt::format("{}:{}", host.find(':') == std::string::npos ? host : "[" + host + "]", port);
}

std::string ReplicaUrl::text() const {
  return fmt::format("{}://{}", is_tls ? "https" : "http", authority());
}

Result<ReplicaUrl> parse_replica_url(std::string_view text) {
  ReplicaUrl url;
  std::string_view rest = text;
  for (const UrlScheme& scheme : kUrlSchemes) {
    if (!rest.starts_with(scheme.begin)) continue;
    rest.remove_prefix(scheme.begin.size());
    url.is_tls = scheme.is_tls;
    url.port = scheme.port;
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const bool has_brackets = rest.starts_with('[');
  const size_t host_end = has_brackets ? rest.find(']') : rest.rfind(':');
  std::string_view host = rest.substr(0, host_end), port;
  if (has_brackets) {
    if (host_end == std::string_view::npos) return not_a_url(text);
    host.remove_prefix(1);
    rest.remove_prefix(host_end + 1);
    if (!rest.empty() && rest.front() != ':') return not_a_url(text);
    port = rest;
  } else if (host_end != std::string_view::npos) {
    port = rest.substr(host_end);
    if (host.find(':') != std::string_view::npos) return not_a_url(text);  // IPv6 without brackets
  }
  if (!port.empty() && !read_port(port.substr(1), url.port)) return not_a_url(text);
  if (!is_host(host) || url.port == 0) return not_a_url(text);
  url.host = std::string(host);
  return url;
}

Result<std::vector<ReplicaUrl>> read_replica_urls(const std::string& path) {
  std::ifstream file(path);
  if (!file) return not_found("cannot read {}: {}", path, std::strerror(errno));
  std::vector<ReplicaUrl> urls;
  size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    const size_t end = line.find_last_not_of(" \t\r") + 1;
    Result<ReplicaUrl> url = parse_replica_url(std::string_view(line).substr(begin, end - begin));
    if (!url) return in_file(fmt::format("{}, line {}", path, number), url.error());
    urls.push_back(std::move(*url));
  }
  return urls;
}

}  // namespace pando::serve
