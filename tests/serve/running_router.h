// A router on a thread, for tests.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "serve/client.h"
#include "serve/route/route_door.h"
#include "serve/server.h"

namespace pando::testing {

class RunningRouter {
 public:
  // Replicas by their ports. Waits until all of these are up, or so many of all.
  explicit RunningRouter(const std::vector<uint16_t>& replicas, serve::RouteOptions route = {},
                         const serve::ServerOptions& options = tiny_server_options(),
                         std::optional<size_t> n_up = std::nullopt) {
    for (const uint16_t port : replicas)
      route.replicas.push_back({.host = "127.0.0.1", .port = port});
    route.router.policy = RoutePolicy::kRoundRobin;
    route.probe_interval = std::chrono::milliseconds(50);
    route.show_replica = true;
    auto door = serve::RouteDoor::open(options, route);
    if (!door) throw std::runtime_error(door.error().message());
    door_ = door->get();
    auto server = serve::Server::open(std::move(*door));
    if (!server) throw std::runtime_error(server.error().message());
    server_ = std::move(*server);
    thread_ = std::thread([this] { server_->run(/*stop_on_signals=*/false); });
    EXPECT_TRUE(
        soon([&] { return door_->replicas.up().size() >= n_up.value_or(replicas.size()); }));
  }
  ~RunningRouter() {
    server_->stop();
    thread_.join();
  }
  uint16_t port() const { return server_->port(); }
  serve::RouteDoor& door() { return *door_; }

 private:
  serve::RouteDoor* door_;
  std::unique_ptr<serve::Server> server_;
  std::thread thread_;
};

}  // namespace pando::testing
