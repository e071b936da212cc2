// Replicas that drain or are gone, and clients that leave.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "serve/client.h"
#include "serve/handler.h"
#include "serve/running_router.h"
#include "serve/scripted_replica.h"

namespace pando::testing {
namespace {

using std::chrono::milliseconds;

const Json kLeavingBody = {{"model", "tiny"}, {"prompt", "P"}};

// A refusal to connect is a sign of life.
TEST(RouteLeaving, WaitsForReplicasThatDrain) {
  ScriptedReplica* draining = nullptr;
  ScriptedReplica replica([&](ScriptedAnswer& answer) {
    draining->refuse();
    std::this_thread::sleep_for(milliseconds(5000));
    answer.send(200, "{}");
  });
  draining = &replica;
  serve::RouteOptions route;
  route.replica_timeout = milliseconds(3000);  // longer than a test's threads pause
  RunningRouter router({replica.port()}, route);
  Client client(router.port());
  EXPECT_EQ(client.post("/v1/completions", kLeavingBody).status, 200);
  EXPECT_EQ(replica.n_asked(), 1);
}

TEST(RouteLeaving, ServersThatDrainTellRoutersSo) {
  const auto door = serve::RouteDoor::open(tiny_server_options(), serve::RouteOptions());
  ASSERT_TRUE(door);
  (*door)->draining = true;
  const auto status_of_path = [&](const char* method, const char* path) {
    serve::HttpRequest request;
    request.method = method;
    request.path = path;
    request.content_type = "application/json";
    const auto refusal = serve::check_head(**door, request, {});
    return refusal ? refusal->status : 0;
  };
  EXPECT_EQ(status_of_path("POST", "/v1/replica"), 0);
  EXPECT_EQ(status_of_path("GET", "/v1/models"), 503);
}

TEST(RouteLeaving, SumsMetricsOfReplicasThatAreGone) {
  const auto script = [](ScriptedAnswer& answer) {
    answer.send(200, "# HELP x_total X\n# TYPE x_total counter\nx_total 2\n", "", "text/plain");
  };
  ScriptedReplica first(script), second(script);
  RunningRouter router({first.port(), second.port()});
  Client client(router.port());
  EXPECT_NE(client.get("/metrics").body.find("\nx_total 4\n"), std::string::npos);
  first.stop();
  const std::string down = "pando_route_replica_up{replica=\"" + first.name() + "\"} 0";
  std::string text;
  EXPECT_TRUE(soon([&] {
    text = client.get("/metrics").body;
    return text.find(down) != text.npos;
  }));
  EXPECT_NE(text.find("\nx_total 4\n"), text.npos) << text;
}

TEST(RouteLeaving, EndsRequestsOfClientsThatLeave) {
  ScriptedReplica replica([](ScriptedAnswer& answer) {
    if (answer.request.target() == "/v1/completions") answer.stall();
    answer.send(200, "");
  });
  RunningRouter router({replica.port()});
  Client leaving(router.port()), client(router.port());
  leaving.send(post_text("/v1/completions", kLeavingBody.dump()));
  ASSERT_TRUE(soon([&] { return replica.n_asked() == 1; }));
  leaving.close();
  std::string text;
  EXPECT_TRUE(soon([&] {
    text = client.get("/metrics").body;
    return text.find("\npando_route_cancelled_requests_total 1\n") != text.npos;
  }));
  const std::string failed =
      "pando_route_replica_failed_total{replica=\"" + replica.name() + "\"} 0\n";
  EXPECT_NE(text.find(failed), text.npos) << text;
}

}  // namespace
}  // namespace pando::testing
