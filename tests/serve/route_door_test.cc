// A router before replicas that die, stall, refuse and lie.
#include "serve/route/route_door.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "serve/client.h"
#include "serve/running_router.h"
#include "serve/scripted_streams.h"
#include "serve/uploads.h"

namespace pando::testing {
namespace {

using std::chrono::milliseconds;

TEST(RouteDoor, PassesRequestsOn) {
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
  const Answer answer = client.post("/v1/completions?a=b", kScriptedBody);
  replica.stop();  // its threads have written all
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "{\"a\": 1}");
  EXPECT_EQ(body, kScriptedBody);
  EXPECT_EQ(target, "/v1/completions?a=b");
  EXPECT_EQ(answer.request_id, id);
  EXPECT_EQ(routed["id"], id);
  EXPECT_EQ(routed["tokens"], false);
  EXPECT_EQ(routed["owner"], "0");
  EXPECT_TRUE(routed["seed"].is_number_unsigned() && routed["created"].is_number());
}

TEST(RouteDoor, KeepsWhatIsForRouters) {
  ScriptedReplica replica(answers_with(200, "{}", "X-Pando-Replica: 1 f\r\nX-Other: 1\r\n"));
  RunningRouter router({replica.port()});
  Client client(router.port());
  client.send(post_text("/v1/completions", kScriptedBody.dump(), "Connection: close\r\n"));
  const std::string all = client.read_all();
  EXPECT_EQ(all.find("X-Pando-Replica"), all.npos) << all;
  EXPECT_NE(all.find("X-Other: 1"), all.npos) << all;
}

TEST(RouteDoor, PassesErrorsOn) {
  ScriptedReplica replica(answers_with(400, "{\"error\":1}"));
  RunningRouter router({replica.port()});
  Client client(router.port());
  const Answer answer = client.post("/v1/completions", kScriptedBody);
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.body, "{\"error\":1}");
  EXPECT_EQ(replica.n_asked(), 1);
}

// Nothing has reached the client: another replica answers.
TEST(RouteDoor, GoesElsewhere) {
  const std::vector<ScriptedReplica::Script> bad = {
      [](ScriptedAnswer& answer) { answer.die(); },
      answers_with(503, "{}"),
      answers_with(500, "{}"),
      answers_with(401, "{}"),
      [](ScriptedAnswer& answer) {
        answer.write_text("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{");
        answer.die();
      },
      [](ScriptedAnswer& answer) {
        answer.begin_stream();
        answer.die();
      }};
  for (const ScriptedReplica::Script& script : bad) {
    ScriptedReplica first(script), second(answers_with(200, "{}"));
    RunningRouter router({first.port(), second.port()});
    Client client(router.port());
    for (int i = 0; i < 2; ++i)  // in turn: one of them begins at the bad one
      EXPECT_EQ(client.post("/v1/completions", kScriptedBody).status, 200);
    EXPECT_GE(first.n_asked(), 1);
    EXPECT_EQ(second.n_asked(), 2);
  }
}

TEST(RouteDoor, TriesEachReplicaOnce) {
  const auto dies = [](ScriptedAnswer& answer) { answer.die(); };
  ScriptedReplica first(dies), second(dies), third(dies);
  RunningRouter router({first.port(), second.port(), third.port()});
  Client client(router.port());
  const Answer answer = client.post("/v1/completions", kScriptedBody);
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.json()["error"]["code"], "no_replica");
  EXPECT_EQ(first.n_asked() + second.n_asked() + third.n_asked(), 3);
}

// A request that breaks whoever answers it does not break all.
TEST(RouteDoor, AsksNobodyAfterFourBreaks) {
  const std::vector<ScriptedReplica::Script> bad = {[](ScriptedAnswer& answer) { answer.die(); },
                                                    answers_with(500, "{\"failed\":1}")};
  for (const ScriptedReplica::Script& script : bad) {
    std::vector<std::unique_ptr<ScriptedReplica>> replicas;
    std::vector<uint16_t> all;
    for (int i = 0; i < 5; ++i) {
      replicas.push_back(std::make_unique<ScriptedReplica>(script));
      all.push_back(replicas.back()->port());
    }
    RunningRouter router(all);
    Client client(router.port());
    const Answer answer = client.post("/v1/completions", kScriptedBody);
    EXPECT_TRUE(answer.status == 503 || answer.body == "{\"failed\":1}") << answer.body;
    int n_asked = 0;
    for (const auto& replica : replicas) n_asked += replica->n_asked();
    EXPECT_EQ(n_asked, 4);
  }
}

TEST(RouteDoor, PassesOnThatAllAreFull) {
  ScriptedReplica first(answers_with(429, "{\"full\":1}", "Retry-After: 7\r\n")),
      second(answers_with(429, "{\"full\":1}", "Retry-After: 7\r\n"));
  RunningRouter router({first.port(), second.port()});
  Client client(router.port());
  const Answer answer = client.post("/v1/completions", kScriptedBody);
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.retry_after, "7");
  EXPECT_EQ(answer.body, "{\"full\":1}");
  EXPECT_EQ(first.n_asked() + second.n_asked(), 2);
}

// Longer than threads of a test pause on a machine that does much else.
constexpr milliseconds kSilence(2500), kLonger(3200);

// Stopped or cut off: connections stand, and nothing comes.
TEST(RouteDoor, LeavesReplicasThatAreSilent) {
  for (const bool streams : {false, true}) {
    ScriptedReplica* stopped = nullptr;
    ScriptedReplica first([&](ScriptedAnswer& answer) {
      stopped->is_silent = true;
      if (!streams) answer.stall();
      answer_stream(answer, [&](int i) {
        if (i == 2) answer.stall();
      });
    });
    stopped = &first;
    ScriptedReplica second([&](ScriptedAnswer& answer) {
      if (streams) return answer_stream(answer, [](int) {});
      answer.send(200, "{}");
    });
    serve::RouteOptions route;
    route.replica_timeout = kSilence;
    RunningRouter router({first.port(), second.port()}, route);
    Client client(router.port());
    for (int i = 0; i < 2; ++i) {
      const Answer answer = client.post("/v1/completions", streams ? stream_body() : kScriptedBody);
      EXPECT_EQ(answer.status, 200);
      EXPECT_EQ(answer.body, streams ? undisturbed_stream() : "{}");
    }
    EXPECT_GE(first.n_asked(), 1);
  }
}

// A request that takes long is not silence where the replica answers about its status.
TEST(RouteDoor, WaitsForLongAnswers) {
  ScriptedReplica replica([](ScriptedAnswer& answer) {
    std::this_thread::sleep_for(kLonger);
    answer.send(200, "{}");
  });
  serve::RouteOptions route;
  route.replica_timeout = kSilence;
  RunningRouter router({replica.port()}, route);
  Client client(router.port());
  EXPECT_EQ(client.post("/v1/completions", kScriptedBody).status, 200);
  EXPECT_EQ(replica.n_asked(), 1);
}

TEST(RouteDoor, SendsNothingToReplicasThatDrain) {
  ScriptedReplica first(answers_with(200, "{}")), second(answers_with(200, "{}"));
  first.set_status("draining", true);
  RunningRouter router({first.port(), second.port()}, {}, tiny_server_options(), /*n_up=*/1);
  Client client(router.port());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(client.post("/v1/completions", kScriptedBody).status, 200);
  EXPECT_EQ(first.n_asked(), 0);
}

TEST(RouteDoor, UsesReplicasThatComeBack) {
  ScriptedReplica replica(answers_with(200, "{}"));
  replica.is_silent = true;
  RunningRouter router({replica.port()}, {}, tiny_server_options(), /*n_up=*/0);
  Client client(router.port());
  EXPECT_EQ(client.get("/ready").status, 503);
  EXPECT_EQ(client.post("/v1/completions", kScriptedBody).status, 503);
  replica.is_silent = false;
  EXPECT_TRUE(soon([&] { return client.get("/ready").status == 200; }));
  EXPECT_EQ(client.post("/v1/completions", kScriptedBody).status, 200);
}

TEST(RouteDoor, RefusesWhatIsForRouters) {
  ScriptedReplica replica(answers_with(200, "{}"));
  RunningRouter router({replica.port()});
  Client client(router.port());
  Json body = stream_body();
  body["pando_begun"] = Json::array();
  EXPECT_EQ(client.post("/v1/completions", body).status, 400);
  EXPECT_EQ(replica.n_asked(), 0);
}

TEST(RouteDoor, HasNoFiles) {
  ScriptedReplica replica(answers_with(200, "{}"));
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

TEST(RouteDoor, KnowsModels) {
  ScriptedReplica first(answers_with(200, "{\"a\":1}")), second(answers_with(200, "{\"b\":1}"));
  second.set_status("models", {"other", "tiny-2"});
  RunningRouter router({first.port(), second.port()});
  Client client(router.port());
  std::vector<std::string> names;
  const Json models = client.get("/v1/models").json();
  for (const Json& model : models["data"]) names.push_back(model["id"]);
  EXPECT_EQ(names, (std::vector<std::string>{"tiny", "other", "tiny-2"}));
  EXPECT_EQ(client.get("/v1/models/other").status, 200);
  EXPECT_EQ(client.get("/v1/models/no").status, 404);
  Json body = kScriptedBody;
  for (const auto& [name, answer] : {std::pair{"tiny", "{\"a\":1}"}, {"other", "{\"b\":1}"}}) {
    body["model"] = name;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(client.post("/v1/completions", body).body, answer);
  }
  body["model"] = "no";
  const Answer refused = client.post("/v1/completions", body);
  EXPECT_EQ(refused.status, 404);
  EXPECT_EQ(refused.json()["error"]["code"], "model_not_found");
  second.set_status("any_model", true);
  EXPECT_TRUE(soon([&] { return client.post("/v1/completions", body).body == "{\"b\":1}"; }));
}

TEST(RouteDoor, LimitsOpenRequestsOfAKey) {
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
  Json body = kScriptedBody;
  body["prompt"] = "long";
  holder.send(post_text("/v1/completions", body.dump(), "X-Api-Key: 0123456789abcdef\r\n"));
  ASSERT_TRUE(soon([&] { return replica.n_asked() == 1; }));
  const std::string text = kScriptedBody.dump();
  EXPECT_EQ(unknown.ask("POST", "/v1/completions", text).status, 401);
  EXPECT_EQ(client.ask("POST", "/v1/completions", text, "0123456789abcdef").status, 429);
  EXPECT_EQ(client.ask("POST", "/v1/completions", text, "fedcba9876543210").status, 200);
  holder.close();
  EXPECT_TRUE(soon([&] {
    return client.ask("POST", "/v1/completions", text, "0123456789abcdef").status == 200;
  }));
}

// Asks the replica that has made it, or all where nothing is known of it.
TEST(RouteDoor, FindsStoredResponses) {
  const auto stores = [](ScriptedAnswer& answer) {
    const std::string target(answer.request.target());
    if (answer.request.method() == boost::beast::http::verb::post)
      return answer.send(200, Json{{"id", "resp_" + std::string(answer.routed()["id"])}}.dump());
    answer.send(target == "/v1/responses/resp_known" ? 404 : 200, "{}");
  };
  ScriptedReplica first(stores), second([](ScriptedAnswer&answer) {
    const std::string target(answer.request.target());
    const bool has = target == "/v1/responses/resp_known";
    if (answer.request.method() == boost::beast::http::verb::post) return answer.die();
    answer.send(has ? 200 : 404, has ? "{\"here\":1}" : "{\"no\":1}");
  });
  RunningRouter router({first.port(), second.port()});
  Client client(router.port());
  const std::string id = client.post("/v1/responses", {{"input", "x"}}).json()["id"];
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.get("/v1/responses/" + id).status, 200);
  EXPECT_TRUE(soon([&] { return client.get("/v1/responses/resp_known").body == "{\"here\":1}"; }));
}

// The replica that has a response may come back: others are not asked for it.
TEST(RouteDoor, WaitsForTheReplicaWithAResponse) {
  for (const bool is_stored : {true, false}) {
    ScriptedReplica first([](ScriptedAnswer& answer) {
      answer.send(200, Json{{"id", "resp_" + std::string(answer.routed()["id"])}}.dump());
    });
    ScriptedReplica second(answers_with(404, "{}"));
    second.set_status("models", {"other"});
    RunningRouter router({first.port(), second.port()});
    Client client(router.port());
    const Json body = {{"model", "tiny"}, {"input", "x"}, {"store", is_stored}};
    const std::string id = client.post("/v1/responses", body).json()["id"];
    first.stop();
    ASSERT_TRUE(soon([&] { return router.door().replicas.up().size() == 1; }));
    EXPECT_EQ(client.get("/v1/responses/" + id).status, is_stored ? 503 : 404);
  }
}

TEST(RouteDoor, SumsMetrics) {
  const auto script = [](ScriptedAnswer& answer) {
    answer.send(200, "# HELP x_total X\n# TYPE x_total counter\nx_total 2\n", "", "text/plain");
  };
  ScriptedReplica first(script), second(script);
  RunningRouter router({first.port(), second.port()});
  Client client(router.port());
  const std::string text = client.get("/metrics").body;
  EXPECT_NE(text.find("\nx_total 4\n"), text.npos) << text;
  EXPECT_NE(text.find("pando_route_replica_up{replica=\"" + first.name() + "\"} 1"), text.npos);
}

TEST(RouteDoor, ListsReplicas) {
  ScriptedReplica replica(answers_with(200, "{}"));
  RunningRouter router({replica.port()});
  Client client(router.port());
  const std::string text = client.get("/").body;
  EXPECT_NE(text.find(replica.name() + " up tiny"), text.npos) << text;
  EXPECT_EQ(client.get("/health").status, 200);
  EXPECT_EQ(client.post("/", {{"inputs", "x"}}).body, "{}");  // is not a question about replicas
}

}  // namespace
}  // namespace pando::testing
