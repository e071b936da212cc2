// A router's own answers, and requests that it passes on or refuses.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "serve/client.h"
#include "serve/handler.h"
#include "serve/running_router.h"
#include "serve/scripted_answers.h"
#include "serve/scripted_replica.h"
#include "serve/uploads.h"

namespace pando::testing {
namespace {

using std::chrono::milliseconds;

TEST(RouteAnswers, PassesRequestsOn) {
  Json routed, body;
  std::string id, target;
  ScriptedReplica replica([&](ScriptedAnswer& answer) {
    routed = answer.routed();
    body = answer.body();
    id = std::string(answer.request["X-Request-Id"]);
    target = std::string(answer.request.target());
    answer.send(200, "{\"a\": 1}", "X-Pando-Ignored-Fields: x\r\n");
  });
  RunningRouter router({replica.port()});
  Client client(router.port());
  const Answer answer = client.post("/v1/completions?a=b", kBody);
  replica.stop();  // its threads have written all
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "{\"a\": 1}");
  EXPECT_EQ(body, kBody);
  EXPECT_EQ(target, "/v1/completions?a=b");
  EXPECT_EQ(answer.request_id, id);
  EXPECT_EQ(routed["id"], id);
  EXPECT_EQ(routed["tokens"], false);
  EXPECT_EQ(routed["owner"], "0");
  EXPECT_TRUE(routed["seed"].is_number_unsigned() && routed["created"].is_number());
}

TEST(RouteAnswers, PassesErrorsOn) {
  ScriptedReplica replica(answers(400, "{\"error\":1}"));
  RunningRouter router({replica.port()});
  Client client(router.port());
  const Answer answer = client.post("/v1/completions", kBody);
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.body, "{\"error\":1}");
  EXPECT_EQ(replica.n_asked(), 1);
}

// A request that takes long is not silence where the replica answers about its status.
TEST(RouteAnswers, WaitsForLongAnswers) {
  ScriptedReplica replica([](ScriptedAnswer& answer) {
    std::this_thread::sleep_for(milliseconds(900));
    answer.send(200, "{}");
  });
  serve::RouteOptions route;
  route.replica_timeout = milliseconds(300);
  RunningRouter router({replica.port()}, route);
  Client client(router.port());
  EXPECT_EQ(client.post("/v1/completions", kBody).status, 200);
  EXPECT_EQ(replica.n_asked(), 1);
}

TEST(RouteAnswers, SendsNothingToReplicasThatDrain) {
  ScriptedReplica first(answers(200, "{}")), second(answers(200, "{}"));
  first.set_status("draining", true);
  RunningRouter router({first.port(), second.port()});
  Client client(router.port());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(client.post("/v1/completions", kBody).status, 200);
  EXPECT_EQ(first.n_asked(), 0);
}

TEST(RouteAnswers, UsesReplicasThatComeBack) {
  ScriptedReplica replica(answers(200, "{}"));
  replica.is_silent = true;
  RunningRouter router({replica.port()});
  Client client(router.port());
  EXPECT_EQ(client.get("/ready").status, 503);
  const Answer refused = client.post("/v1/completions", kBody);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.retry_after, "1");
  replica.is_silent = false;
  EXPECT_TRUE(soon([&] { return client.get("/ready").status == 200; }));
  EXPECT_EQ(client.post("/v1/completions", kBody).status, 200);
}

TEST(RouteAnswers, RefusesWhatIsForRouters) {
  ScriptedReplica replica(answers(200, "{}"));
  RunningRouter router({replica.port()});
  Client client(router.port());
  Json body = kBody;
  body["pando_begun"] = Json::array();
  EXPECT_EQ(client.post("/v1/completions", body).status, 400);
  EXPECT_EQ(replica.n_asked(), 0);
}

TEST(RouteAnswers, HasNoFiles) {
  ScriptedReplica replica(answers(200, "{}"));
  RunningRouter router({replica.port()});
  for (const char* path :
       {"/v1/files", "/v1/files/a", "/v1/files/a/content", "/v1/batches", "/v1/batches/a"})
    EXPECT_EQ(Client(router.port()).get(path).status, 404) << path;
  for (const char* path : {"/v1/batches", "/v1/batches/a/cancel"})
    EXPECT_EQ(Client(router.port()).post(path, Json::object()).status, 404) << path;
  Client client(router.port());
  const Answer refused = upload(client, "x");
  EXPECT_EQ(refused.status, 404);
  EXPECT_NE(refused.body.find("a router has no files and batches"), std::string::npos)
      << refused.body;
  EXPECT_EQ(replica.n_asked(), 0);
}

TEST(RouteAnswers, KnowsModels) {
  ScriptedReplica first(answers(200, "{\"a\":1}")), second(answers(200, "{\"b\":1}"));
  second.set_status("models", {"other", "tiny-2"});
  RunningRouter router({first.port(), second.port()});
  Client client(router.port());
  std::vector<std::string> names;
  const Json models = client.get("/v1/models").json();
  for (const Json& model : models["data"]) names.push_back(model["id"]);
  EXPECT_EQ(names, (std::vector<std::string>{"tiny", "other", "tiny-2"}));
  EXPECT_EQ(client.get("/v1/models/other").status, 200);
  EXPECT_EQ(client.get("/v1/models/no").status, 404);
  Json body = kBody;
  for (const auto& [name, answer] : {std::pair{"tiny", "{\"a\":1}"}, {"other", "{\"b\":1}"}}) {
    body["model"] = name;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(client.post("/v1/completions", body).body, answer);
  }
  body["model"] = "no";
  const Answer refused = client.post("/v1/completions", body);
  EXPECT_EQ(refused.status, 404);
  EXPECT_EQ(refused.json()["error"]["code"], "model_not_found");
}

TEST(RouteAnswers, LimitsOpenRequestsOfAKey) {
  ScriptedReplica replica([](ScriptedAnswer& answer) {
    if (answer.body()["prompt"] == "long") answer.stall();
    answer.send(200, "{}");
  });
  serve::RouteOptions route;
  route.max_requests_per_key = 1;
  serve::ServerOptions options = tiny_server_options();
  options.api_keys = {"a:0123456789abcdef", "b:fedcba9876543210"};
  options.drain_timeout = std::chrono::seconds(1);
  RunningRouter router({replica.port()}, route, options);
  Client holder(router.port()), unknown(router.port()), client(router.port());
  Json body = kBody;
  body["prompt"] = "long";
  holder.send(post_text("/v1/completions", body.dump(), "X-Api-Key: 0123456789abcdef\r\n"));
  ASSERT_TRUE(soon([&] { return replica.n_asked() == 1; }));
  const std::string text = kBody.dump();
  EXPECT_EQ(unknown.ask("POST", "/v1/completions", text).status, 401);
  EXPECT_EQ(client.ask("POST", "/v1/completions", text, "0123456789abcdef").status, 429);
  EXPECT_EQ(client.ask("POST", "/v1/completions", text, "fedcba9876543210").status, 200);
  holder.close();
  EXPECT_TRUE(soon([&] {
    return client.ask("POST", "/v1/completions", text, "0123456789abcdef").status == 200;
  }));
}

// The pauses between questions about its state would be longer than the time of silence.
TEST(RouteAnswers, WaitsForReplicasThatDrain) {
  ScriptedReplica* draining = nullptr;
  ScriptedReplica replica([&](ScriptedAnswer& answer) {
    draining->refuse();
    std::this_thread::sleep_for(milliseconds(900));
    answer.send(200, "{}");
  });
  draining = &replica;
  serve::RouteOptions route;
  route.replica_timeout = milliseconds(300);
  RunningRouter router({replica.port()}, route);
  Client client(router.port());
  EXPECT_EQ(client.post("/v1/completions", kBody).status, 200);
  EXPECT_EQ(replica.n_asked(), 1);
}

TEST(RouteAnswers, ServersThatDrainTellRoutersSo) {
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

TEST(RouteAnswers, SumsMetricsOfReplicasThatAreGone) {
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

TEST(RouteAnswers, EndsRequestsOfClientsThatLeave) {
  ScriptedReplica replica([](ScriptedAnswer& answer) {
    if (answer.request.target() == "/v1/completions") answer.stall();
    answer.send(200, "");
  });
  RunningRouter router({replica.port()});
  Client leaving(router.port()), client(router.port());
  leaving.send(post_text("/v1/completions", kBody.dump()));
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
