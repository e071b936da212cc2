#include "serve/route/route_door.h"

#include <charconv>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include "base/certificates.h"
#include "base/errors.h"
#include "serve/offload.h"
#include "serve/route/route_answers.h"
#include "serve/route/routed_request.h"
#include "serve/routes.h"

namespace pando::serve {
namespace {

constexpr size_t kMostResponsePlaces = 100'000;
constexpr size_t kMostKeptMetrics = 1000;  // replicas
constexpr std::chrono::milliseconds kFirstStatusTime{2500}, kFirstStatusLook{20};

// OpenSSL's own places, which the environment can name, or else those of this distribution.
std::string trusted_file() {
  for (const char* name : {"SSL_CERT_FILE", "SSL_CERT_DIR"})
    if (std::getenv(name) != nullptr) return {};
  return system_certificates().string();
}

Result<std::unique_ptr<boost::asio::ssl::context>> tls_to_replicas(const std::string& ca_file) {
  auto context = std::make_unique<boost::asio::ssl::context>(boost::asio::ssl::context::tls_client);
  boost::system::error_code error;
  context->set_verify_mode(boost::asio::ssl::verify_peer, error);
  if (!error && ca_file.empty()) context->set_default_verify_paths(error);
  const std::string file = ca_file.empty() ? trusted_file() : ca_file;
  if (!error && !file.empty()) context->load_verify_file(file, error);
  if (error) return in_file(file, bad_file("{}, expected certificates in PEM", error.message()));
  return context;
}

// The beginning of the hash of each key.
std::vector<uint64_t> owners_of(const ApiKeys& keys) {
  std::vector<uint64_t> owners;
  for (const std::string& hex : keys.owners()) {
    uint64_t owner = 0;
    constexpr size_t kDigits = 16;
    if (hex.size() >= kDigits) std::from_chars(hex.data(), hex.data() + kDigits, owner, 16);
    owners.push_back(owner & ~(uint64_t{1} << 63));  // replicas mark private keys with this bit
  }
  return owners;
}

}  // namespace

RouteDoor::RouteDoor(const ServerOptions& o, const RouteOptions& r, ApiKeys k,
                     std::unique_ptr<boost::asio::ssl::context> t)
    : Door(o, std::move(k)),
      route(r),
      tls(std::move(t)),
      replicas(route, tls.get()),
      limits(route.max_requests_per_key),
      places(kMostResponsePlaces),
      kept_metrics(kMostKeptMetrics),
      text_pool(static_cast<size_t>(options.text_threads)),
      watch(replicas, route, [this](const std::string& line) { log(line); }),
      owners_(owners_of(keys)) {
  replicas.log = [this](const std::string& line) { log(line); };
}

Result<std::unique_ptr<RouteDoor>> RouteDoor::open(const ServerOptions& options,
                                                   const RouteOptions& route) {
  Result<ApiKeys> keys = ApiKeys::parse(options.api_keys);
  if (!keys) return keys.error();
  auto tls = tls_to_replicas(route.ca_file);
  if (!tls) return tls.error();
  std::unique_ptr<RouteDoor> door(new RouteDoor(options, route, std::move(*keys), std::move(*tls)));
  if (Status status = door->watch.start(); !status) return status.error();
  const auto end = ReplicaSet::Clock::now() + kFirstStatusTime;
  while ((!door->watch.has_looked_up() || door->replicas.is_any_unknown()) &&
         ReplicaSet::Clock::now() < end)
    std::this_thread::sleep_for(kFirstStatusLook);
  return door;
}

uint64_t RouteDoor::owner(uint64_t isolation_key) const {
  return isolation_key < owners_.size() ? owners_[isolation_key] : 0;
}

boost::asio::awaitable<void> RouteDoor::handle(HttpRequest& request, Replier& replier) {
  const Route& found = *find_route(request.path, request.method);
  if (OwnAnswer* own = find_own_answer(found)) return own(*this, request, replier);
  return route_request(*this, found, request, replier);
}

std::optional<HttpResponse> RouteDoor::begin_upload(HttpRequest& request, std::string_view) {
  return no_files_here(*this, request);
}

boost::asio::awaitable<Status> RouteDoor::on_disk(std::function<Status()> work) {
  return offload(text_pool, 0, std::move(work));
}

// Connections that are kept belong to executors that are about to go.
void RouteDoor::close() {
  text_pool.join();
  watch.stop();  // and closes them
}

}  // namespace pando::serve
