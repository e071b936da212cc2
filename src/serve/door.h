// The part of a server that answers requests, as its connections see it.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "pando/values/result.h"
#include "serve/api_keys.h"
#include "serve/body_memory.h"
#include "serve/connection_registry.h"
#include "serve/http.h"
#include "serve/http_metrics.h"
#include "serve/options.h"
#include "serve/request_log.h"

namespace pando::serve {

class BatchRunner;

// A server answers with an engine (Service) or through other servers (route/RouteDoor). Any thread
// may use it.
struct Door {
  // router_keys: absent if no router is recognised.
  Door(ServerOptions options, ApiKeys keys, std::optional<ApiKeys> router_keys = std::nullopt);
  virtual ~Door() = default;
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  const ServerOptions options;
  const ApiKeys keys;
  const std::optional<ApiKeys> router_keys;
  const int64_t started;                // seconds since 1970
  std::atomic<bool> draining{false};    // no new requests are taken
  std::atomic<bool> is_cutting{false};  // open requests end too, and no text is begun
  ConnectionRegistry connections;
  BodyMemory body_memory;
  bool local_names_only = false;  // else a request may call the server by any name

  virtual HttpMetrics& http_metrics() = 0;
  // Answers a request that check_head let pass. Throws where the client is gone.
  virtual boost::asio::awaitable<void> handle(HttpRequest& request, Replier& replier) = 0;
  // Makes request.upload for a form, or returns the error to answer it with. origin: header of
  // browsers, which send forms of any page without asking first.
  virtual std::optional<HttpResponse> begin_upload(HttpRequest& request,
                                                   std::string_view origin) = 0;
  // Runs `work`, which may wait for a disk, on another thread. Throws what `work` throws.
  virtual boost::asio::awaitable<Status> on_disk(std::function<Status()> work) = 0;
  virtual BatchRunner* batches() { return nullptr; }  // null: the door has none
  // Once no connection is served any more, before their executors go.
  virtual void close() = 0;

  // The id of a new request and of its answer; not to be guessed.
  std::string new_id() const;
  void log(const LoggedRequest& request) const;
  void log(const std::string& line) const;  // after the time
};

}  // namespace pando::serve
