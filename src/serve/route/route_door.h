// Answers requests by other servers with the same API.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "serve/door.h"
#include "serve/route/kept_metrics.h"
#include "serve/route/key_limits.h"
#include "serve/route/replica_set.h"
#include "serve/route/replica_watch.h"
#include "serve/route/response_places.h"
#include "serve/route/route_metrics.h"
#include "serve/route/route_options.h"

namespace pando::serve {

// Any thread may use it.
struct RouteDoor : Door {
  // Waits a little for the replicas' names and their first status. Errors: kInvalidArgument for
  // keys and replicas, kBadFile for authorities of TLS, kNotFound for a list of replicas.
  static Result<std::unique_ptr<RouteDoor>> open(const ServerOptions& options,
                                                 const RouteOptions& route);

  const RouteOptions route;
  const std::unique_ptr<boost::asio::ssl::context> tls;  // to replicas
  ReplicaSet replicas;
  KeyLimits limits;
  ResponsePlaces places;
  RouteMetrics metrics;
  KeptMetrics kept_metrics;            // of the replicas
  boost::asio::thread_pool text_pool;  // for reading bodies
  ReplicaWatch watch;

  HttpMetrics& http_metrics() override { return metrics; }
  boost::asio::awaitable<void> handle(HttpRequest& request, Replier& replier) override;
  std::optional<HttpResponse> begin_upload(HttpRequest& request, std::string_view origin) override;
  boost::asio::awaitable<Status> on_disk(std::function<Status()> work) override;
  void close() override;
  // A number by which replicas keep clients apart. It is the same at each router that has the
  // client's key.
  uint64_t owner(uint64_t isolation_key) const;

 private:
  RouteDoor(const ServerOptions& options, const RouteOptions& route, ApiKeys keys,
            std::unique_ptr<boost::asio::ssl::context> tls);
  const std::vector<uint64_t> owners_;  // [isolation keys]
};

}  // namespace pando::serve
