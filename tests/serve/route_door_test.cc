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
#include "serve/scripted_replica.h"
#include "serve/uploads.h"

namespace pando::testing {
namespace {

using std::chrono::milliseconds;

const Json kBody = {{"model", "tiny"}, {"prompt", "P"}, {"max_tokens", 9}};

Json stream_body() {
  Json body = kBody;
  body["stream"] = true;
  return body;
}

constexpr int kTokens = 6;

std::string event_of(int token) { return fmt::format("data: {{\"i\":{}}}\n\n", token); }

std::string undisturbed() {
  std::string text = "data: {\"head\":1}\n\n";
  for (int i = 0; i < kTokens; ++i) text += event_of(i);
  return text + "data: [DONE]\n\n";
}

// Writes the answer of tokens 0 to 5 as a replica does, behind those that have begun.
void answer_stream(ScriptedAnswer& answer, const std::function<void(int token)>& before) {
  const Json body = answer.body();
  int begun = 0;
  if (body.contains("pando_begun"))
    for (const Json& one : body["pando_begun"]) begun += static_cast<int>(one["tokens"].size());
  answer.begin_stream();
  std::string text = body.contains("pando_begun") ? "" : "data: {\"head\":1}\n\n";
  for (int i = begun; i < kTokens; ++i) {
    text += fmt::format(": tokens 0 0 {}\n\n", i) + event_of(i);
    before(i);
    answer.write(std::exchange(text, ""));
  }
  answer.write("data: [DONE]\n\n");
  answer.end_stream();
}

ScriptedReplica::Script streams_whole() {
  return [](ScriptedAnswer& answer) { answer_stream(answer, [](int) {}); };
}
ScriptedReplica::Script dies_before(int token) {
  return [token](ScriptedAnswer& answer) {
    answer_stream(answer, [&](int i) {
      if (i == token) answer.die();
    });
  };
}
ScriptedReplica::Script answers(int status, const std::string& body,
                                const std::string& headers = "") {
  return [=](ScriptedAnswer& answer) { answer.send(status, body, headers); };
}

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

TEST(RouteDoor, PassesErrorsOn) {
  ScriptedReplica replica(answers(400, "{\"error\":1}"));
  RunningRouter router({replica.port()});
  Client client(router.port());
  const Answer answer = client.post("/v1/completions", kBody);
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.body, "{\"error\":1}");
  EXPECT_EQ(replica.n_asked(), 1);
}

TEST(RouteDoor, PassesStreamsOnWithoutTokens) {
  ScriptedReplica replica(streams_whole());
  RunningRouter router({replica.port()});
  Client client(router.port());
  for (int i = 0; i < 3; ++i) {
    const Answer answer = client.post("/v1/completions", stream_body());
    EXPECT_EQ(answer.body, undisturbed());
    EXPECT_TRUE(answer.content_type.starts_with("text/event-stream"));
  }
}

// Nothing has reached the client: another replica answers.
TEST(RouteDoor, GoesElsewhere) {
  const std::vector<ScriptedReplica::Script> bad = {
      [](ScriptedAnswer& answer) { answer.die(); }, answers(503, "{}"), answers(401, "{}"),
      [](ScriptedAnswer& answer) {
        answer.write_text("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{");
        answer.die();
      },
      [](ScriptedAnswer& answer) {
        answer.begin_stream();
        answer.die();
      }};
  for (const ScriptedReplica::Script& script : bad) {
    ScriptedReplica first(script), second(answers(200, "{}"));
    RunningRouter router({first.port(), second.port()});
    Client client(router.port());
    for (int i = 0; i < 2; ++i)  // in turn: one of them begins at the bad one
      EXPECT_EQ(client.post("/v1/completions", kBody).status, 200);
    EXPECT_GE(first.n_asked(), 1);
    EXPECT_EQ(second.n_asked(), 2);
  }
}

TEST(RouteDoor, TriesEachReplicaOnce) {
  const auto dies = [](ScriptedAnswer& answer) { answer.die(); };
  ScriptedReplica first(dies), second(dies), third(dies);
  RunningRouter router({first.port(), second.port(), third.port()});
  Client client(router.port());
  const Answer answer = client.post("/v1/completions", kBody);
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.json()["error"]["code"], "no_replica");
  EXPECT_EQ(first.n_asked() + second.n_asked() + third.n_asked(), 3);
}

TEST(RouteDoor, PassesOnThatAllAreFull) {
  ScriptedReplica first(answers(429, "{\"full\":1}", "Retry-After: 7\r\n")),
      second(answers(429, "{\"full\":1}", "Retry-After: 7\r\n"));
  RunningRouter router({first.port(), second.port()});
  Client client(router.port());
  const Answer answer = client.post("/v1/completions", kBody);
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.retry_after, "7");
  EXPECT_EQ(answer.body, "{\"full\":1}");
  EXPECT_EQ(first.n_asked() + second.n_asked(), 2);
}

TEST(RouteDoor, ContinuesStreams) {
  for (int cut = 0; cut < kTokens; ++cut) {
    ScriptedReplica first(dies_before(cut)), second(streams_whole());
    RunningRouter router({first.port(), second.port()});
    Client client(router.port());
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(client.post("/v1/completions", stream_body()).body, undisturbed()) << cut;
    EXPECT_GE(first.n_asked(), 1);
  }
}

// Bytes break off inside an event and inside a comment.
TEST(RouteDoor, ContinuesStreamsFromWholeEvents) {
  for (const char* rest : {": tokens 0 0", ": tokens 0 0 2\n\ndata: {\"i", "da"}) {
    ScriptedReplica first([=](ScriptedAnswer& answer) {
      answer_stream(answer, [&](int i) {
        if (i < 2) return;
        answer.write(rest);
        answer.die();
      });
    });
    ScriptedReplica second(streams_whole());
    RunningRouter router({first.port(), second.port()});
    Client client(router.port());
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(client.post("/v1/completions", stream_body()).body, undisturbed()) << rest;
  }
}

TEST(RouteDoor, ContinuesStreamsOfServersThatShutDown) {
  ScriptedReplica first([](ScriptedAnswer& answer) {
    answer_stream(answer, [&](int i) {
      if (i < 2) return;
      const ask::HttpError error = serve::shutting_down(", and the answer was not ready in time");
      answer.write(ask::kOpenAiErrors.last_events(error));
      answer.end_stream();
      answer.die();
    });
  });
  ScriptedReplica second(streams_whole());
  RunningRouter router({first.port(), second.port()});
  Client client(router.port());
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(client.post("/v1/completions", stream_body()).body, undisturbed());
}

std::string last_code(const std::string& stream) {
  const size_t at = stream.find("{\"error\"");
  if (at == stream.npos) return {};
  return Json::parse(stream.substr(at, stream.find("\n\n", at) - at))["error"]["code"];
}

TEST(RouteDoor, EndsStreamsThatNobodyContinues) {
  serve::RouteOptions route;
  route.continue_time = milliseconds(0);
  ScriptedReplica first(dies_before(2)), other(streams_whole());
  other.set_status("fingerprint", "other");
  RunningRouter router({first.port(), other.port()}, route);
  Client client(router.port());
  int n_lost = 0;
  for (int i = 0; i < 2; ++i) {
    const std::string body = client.post("/v1/completions", stream_body()).body;
    if (body == undisturbed()) continue;
    ++n_lost;
    EXPECT_EQ(last_code(body), "replica_lost") << body;
    EXPECT_TRUE(body.starts_with("data: {\"head\":1}\n\n" + event_of(0) + event_of(1) + "data: "));
    EXPECT_TRUE(body.ends_with("data: [DONE]\n\n"));
  }
  EXPECT_EQ(n_lost, 1);
}

TEST(RouteDoor, GivesUpAfterThreeBreaks) {
  std::vector<std::unique_ptr<ScriptedReplica>> replicas;
  std::vector<uint16_t> all;
  for (int i = 0; i < 5; ++i) {
    replicas.push_back(std::make_unique<ScriptedReplica>([](ScriptedAnswer& answer) {
      const bool is_first = !answer.body().contains("pando_begun");
      answer_stream(answer, [&, n = 0](int) mutable {
        if (n++ == (is_first ? 1 : 2)) answer.die();  // one token more each time
      });
    }));
    all.push_back(replicas.back()->port());
  }
  RunningRouter router(all);
  Client client(router.port());
  const std::string body = client.post("/v1/completions", stream_body()).body;
  EXPECT_EQ(last_code(body), "replica_lost") << body;
  int n_asked = 0;
  for (const auto& replica : replicas) n_asked += replica->n_asked();
  EXPECT_EQ(n_asked, 4);
}

TEST(RouteDoor, FindsReplicasThatGoOnOtherwise) {
  ScriptedReplica first(dies_before(2)), liar([](ScriptedAnswer&answer) {
    if (!answer.body().contains("pando_begun")) return answer_stream(answer, [](int) {});
    answer.begin_stream();
    answer.write(": tokens 0 0 1\n\ndata: {\"i\":77}\n\ndata: [DONE]\n\n");
    answer.end_stream();
  });
  RunningRouter router({first.port(), liar.port()});
  Client client(router.port());
  int n_lost = 0;
  for (int i = 0; i < 2; ++i) {
    const std::string body = client.post("/v1/completions", stream_body()).body;
    EXPECT_EQ(body.find("77"), body.npos);
    n_lost += last_code(body) == "replica_lost" ? 1 : 0;
  }
  EXPECT_EQ(n_lost, 1);
}

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
    route.replica_timeout = milliseconds(300);
    RunningRouter router({first.port(), second.port()}, route);
    Client client(router.port());
    for (int i = 0; i < 2; ++i) {
      const Answer answer = client.post("/v1/completions", streams ? stream_body() : kBody);
      EXPECT_EQ(answer.status, 200);
      EXPECT_EQ(answer.body, streams ? undisturbed() : "{}");
    }
    EXPECT_GE(first.n_asked(), 1);
  }
}

// A request that takes long is not silence where the replica answers about its status.
TEST(RouteDoor, WaitsForLongAnswers) {
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

TEST(RouteDoor, SendsNothingToReplicasThatDrain) {
  ScriptedReplica first(answers(200, "{}")), second(answers(200, "{}"));
  first.set_status("draining", true);
  RunningRouter router({first.port(), second.port()});
  Client client(router.port());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(client.post("/v1/completions", kBody).status, 200);
  EXPECT_EQ(first.n_asked(), 0);
}

TEST(RouteDoor, UsesReplicasThatComeBack) {
  ScriptedReplica replica(answers(200, "{}"));
  replica.is_silent = true;
  RunningRouter router({replica.port()});
  Client client(router.port());
  EXPECT_EQ(client.get("/ready").status, 503);
  EXPECT_EQ(client.post("/v1/completions", kBody).status, 503);
  replica.is_silent = false;
  EXPECT_TRUE(soon([&] { return client.get("/ready").status == 200; }));
  EXPECT_EQ(client.post("/v1/completions", kBody).status, 200);
}

TEST(RouteDoor, RefusesWhatIsForRouters) {
  ScriptedReplica replica(answers(200, "{}"));
  RunningRouter router({replica.port()});
  Client client(router.port());
  Json body = stream_body();
  body["pando_begun"] = Json::array();
  EXPECT_EQ(client.post("/v1/completions", body).status, 400);
  EXPECT_EQ(replica.n_asked(), 0);
}

TEST(RouteDoor, HasNoFiles) {
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

TEST(RouteDoor, KnowsModels) {
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
  ScriptedReplica replica(answers(200, "{}"));
  RunningRouter router({replica.port()});
  Client client(router.port());
  const std::string text = client.get("/").body;
  EXPECT_NE(text.find(replica.name() + " up tiny"), text.npos) << text;
  EXPECT_EQ(client.get("/health").status, 200);
}

}  // namespace
}  // namespace pando::testing
