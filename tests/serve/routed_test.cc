// A server believes routers that have its key, and reports to them.
#include "serve/routed.h"

#include <algorithm>

#include "engine/technique.h"
#include "schedule/pieces.h"
#include "serve/log_lines.h"
#include "serve/routed_testing.h"

namespace pando::testing {
namespace {

constexpr const char *kClientKey = "a-client-key-that-is-long",
                     *kRouterKey = "a-router-key-of-ours";

std::string bearer(const std::string& key) { return "Authorization: Bearer " + key + "\r\n"; }

const Json kShortBody = {
    {"prompt", "One"}, {"max_tokens", 4}, {"temperature", 1}, {"ignore_eos", true}};

int status_of(const RunningServer& server, const std::string& headers,
              const std::string& path = "/v1/completions", const Json& body = kShortBody) {
  return ask_routed(server.port(), path, body, headers).status;
}

TEST(Routed, WithoutKeysAnybodyMaySayIt) {
  const RunningServer server;
  EXPECT_EQ(status_of(server, routed_line()), 200);
  EXPECT_EQ(status_of(server, "", "/v1/replica", Json::object()), 200);
}

TEST(Routed, OnlyRoutersMaySayItWhereThereAreKeys) {
  serve::ServerOptions options = tiny_server_options();
  options.api_keys = {kClientKey};
  const RunningServer without(options);
  EXPECT_EQ(status_of(without, bearer(kClientKey)), 200);
  EXPECT_EQ(status_of(without, bearer(kClientKey) + routed_line()), 401);
  EXPECT_EQ(status_of(without, bearer(kClientKey), "/v1/replica", Json::object()), 401);
  Json begun = kShortBody;
  begun["stream"] = true;
  begun["pando_begun"] = Json::array();
  EXPECT_EQ(status_of(without, bearer(kClientKey), "/v1/completions", begun), 400);

  options.router_keys = {kRouterKey};
  const RunningServer with(options);
  EXPECT_EQ(status_of(with, bearer(kRouterKey) + routed_line()), 200);
  EXPECT_EQ(status_of(with, bearer(kRouterKey), "/v1/completions", begun), 200);
  EXPECT_EQ(status_of(with, bearer(kRouterKey), "/v1/replica", Json::object()), 200);
  EXPECT_EQ(status_of(with, bearer(kClientKey) + routed_line()), 401);
  EXPECT_EQ(status_of(with, bearer(kClientKey)), 200);
  EXPECT_EQ(status_of(with, ""), 401);

  options.api_keys = {};
  const RunningServer router_key_alone(options);
  EXPECT_EQ(status_of(router_key_alone, ""), 200);
  EXPECT_EQ(status_of(router_key_alone, routed_line()), 401);
  options.router_only = true;
  const RunningServer router_only(options);
  EXPECT_EQ(status_of(router_only, ""), 401);
  EXPECT_EQ(status_of(router_only, bearer(kRouterKey)), 200);
  EXPECT_EQ(Client(router_only.port()).get("/health").status, 200);
  EXPECT_EQ(Client(router_only.port()).get("/v1/models").status, 401);
}

TEST(Routed, OnlyNeedsKeys) {
  const std::unique_ptr<Engine> engine = open_tiny();
  serve::ServerOptions options = tiny_server_options();
  options.router_only = true;
  const auto refused = serve::Server::open(*engine, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(), "router_only is true, expected router_keys with it");
}

TEST(Routed, WrongHeadersAreRefused) {
  for (const char* header :
       {"7", "{", R"({"id":"short"})", R"({"id":"0123456789ABCDEF"})", R"({"owner":"x"})",
        R"({"owner":"11112222333344445"})", R"({"seed":"1"})", R"({"created":-1})",
        R"({"tokens":1})", R"({"more":1})"})
    EXPECT_FALSE(serve::parse_routed(header).ok()) << header;
  const serve::Routed all =
      serve::parse_routed(
          R"({"id":"0123456789abcdef","created":5,"seed":18446744073709551615,"owner":"ff",)"
          R"("tokens":true})")
          .value();
  EXPECT_EQ(all.id, "0123456789abcdef");
  EXPECT_EQ(all.created, 5);
  EXPECT_EQ(all.seed, UINT64_MAX);
  EXPECT_EQ(all.owner, 255U);
  EXPECT_TRUE(all.tells_tokens);
  EXPECT_TRUE(serve::parse_routed("{}").ok());
  const RunningServer server;
  EXPECT_EQ(status_of(server, "X-Pando-Routed: {\r\n"), 400);
}

TEST(Routed, AnswersHaveIdTimeAndSeedOfTheRouter) {
  EngineOptions other = tiny_options();
  other.seed = 5;
  Lines lines;
  serve::ServerOptions options = tiny_server_options();
  log_to(lines, options);
  const RunningServer first(options), second(tiny_server_options(), open_tiny(other));
  const Answer answer = ask_routed(first.port(), "/v1/completions", kShortBody);
  EXPECT_EQ(answer.request_id, "0123456789abcdef");
  EXPECT_EQ(answer.json()["id"], "cmpl-0123456789abcdef");
  EXPECT_EQ(answer.json()["created"], 1'700'000'000);
  EXPECT_NE(lines.wait_for(1)[0].find(" id=0123456789abcdef"), std::string::npos);
  // Another id changes nothing of the text.
  const auto text_of = [&](const RunningServer& server, const Json& header, const Json& more) {
    Json body = kShortBody;
    body.update(more);
    return ask_routed(server.port(), "/v1/completions", body, routed_line(header))
        .json()["choices"];
  };
  const Json choices = answer.json()["choices"];
  EXPECT_EQ(text_of(second, {{"id", "00000000000000aa"}}, Json::object()), choices);
  EXPECT_NE(text_of(second, {{"seed", 78}}, Json::object()), choices);
  EXPECT_EQ(text_of(second, {{"seed", 78}}, {{"seed", 77}}), choices);
  // Equal prompts of one body are drawn apart.
  const Json two = text_of(first, Json::object(), {{"prompt", {"One", "One"}}, {"max_tokens", 8}});
  EXPECT_NE(two[0]["text"], two[1]["text"]);
}

TEST(Routed, OwnersShareNothing) {
  const RunningServer server;
  const auto reused = [&](const std::string& owner) {
    const Json body = {
        {"prompt", "A prompt that is shared or not."}, {"max_tokens", 1}, {"sharing", true}};
    return ask_routed(server.port(), "/v1/completions", body, routed_line({{"owner", owner}}))
        .json()["sharing"]["reused"]
        .get<int>();
  };
  EXPECT_EQ(reused("1"), 0);
  EXPECT_GT(reused("1"), 0);
  EXPECT_EQ(reused("2"), 0);
}

TEST(Routed, OwnersHaveResponsesOfTheirOwn) {
  const RunningServer server;
  const auto get = [&](const std::string& id, const std::string& owner) {
    Client client(server.port());
    client.send(fmt::format("GET /v1/responses/{} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", id,
                            routed_line({{"owner", owner}})));
    return client.read().status;
  };
  const Json body = {{"input", "Q?"}, {"max_output_tokens", 2}};
  for (int again = 0; again < 2; ++again) {  // an answer that goes on here is stored again
    const Answer answer =
        ask_routed(server.port(), "/v1/responses", body, routed_line({{"owner", "abc"}}));
    ASSERT_EQ(answer.status, 200) << answer.body;
  }
  EXPECT_EQ(get("resp_0123456789abcdef", "abc"), 200);
  EXPECT_EQ(get("resp_0123456789abcdef", "abd"), 404);
}

Json report_of(const RunningServer& server, uint64_t since = 0) {
  const Answer answer = ask_routed(server.port(), "/v1/replica", {{"since", since}}, "");
  EXPECT_EQ(answer.status, 200) << answer.body;
  return answer.json();
}

TEST(ReplicaReport, TellsWhatTheServerIs) {
  EngineOptions other = tiny_options();
  const RunningServer first, second;
  other.kv_type = KvType::kF32;
  const RunningServer wider(tiny_server_options(), open_tiny(other));
  serve::ServerOptions options = tiny_server_options();
  options.defaults.stop = {"x"};
  options.any_model_name = true;
  const RunningServer stopping(options);
  const Json report = report_of(first);
  EXPECT_EQ(report["models"], Json::array({"tiny"}));
  EXPECT_EQ(report["context"], kTinyContext);
  EXPECT_EQ(report["longest"], kTinyContext);
  EXPECT_EQ(report["draining"], false);
  EXPECT_EQ(report["any_model"], false);
  EXPECT_GT(report["kv_tokens"], 0);
  EXPECT_EQ(report["bytes_per_token"], 4) << "nothing was asked";
  EXPECT_EQ(report["running"], 0);
  EXPECT_EQ(report["waiting"], 0);
  EXPECT_EQ(report["seconds_left"], 0);
  EXPECT_EQ(report["process"], report_of(first)["process"]);
  EXPECT_NE(report["process"], report_of(second)["process"]);
  EXPECT_EQ(report["fingerprint"], report_of(second)["fingerprint"]);
  EXPECT_NE(report["fingerprint"], report_of(wider)["fingerprint"]);
  EXPECT_NE(report["fingerprint"], report_of(stopping)["fingerprint"]);
  EXPECT_EQ(report_of(stopping)["any_model"], true);
}

Technique inexact(TechniqueOptions&, int tile_len) {
  return {.planner = make_tree_planner(tile_len), .exact = false};
}

// Its answers depend on what else is asked: no other server has the rest of them.
TEST(ReplicaReport, InexactAnswersGoOnNowhere) {
  constexpr NamedTechnique kInexact{"inexact", inexact};
  register_techniques({&kInexact, 1});
  EngineOptions engine = tiny_options();
  engine.sharing = "inexact";
  const RunningServer first(tiny_server_options(), open_tiny(engine)),
      second(tiny_server_options(), open_tiny(engine));
  EXPECT_NE(report_of(first)["fingerprint"], report_of(second)["fingerprint"]);
  Json begun = kShortBody;
  begun["stream"] = true;
  EXPECT_EQ(status_of(first, routed_line(), "/v1/completions", begun), 200);
  begun["pando_begun"] = Json::array();
  EXPECT_EQ(status_of(first, routed_line(), "/v1/completions", begun), 400);
}

// Routers learn which process answers; clients do not ask.
TEST(Routed, AnswersNameTheirProcess) {
  const RunningServer server;
  const Json report = report_of(server);
  const std::string expected = "X-Pando-Replica: " + report["process"].get<std::string>() + " " +
                               report["fingerprint"].get<std::string>() + "\r\n";
  for (const bool is_routed : {true, false}) {
    Client client(server.port());
    client.send(post_text("/v1/completions", kShortBody.dump(),
                          "Connection: close\r\n" + (is_routed ? routed_line() : "")));
    const std::string all = client.read_all();
    EXPECT_EQ(all.find(expected) != all.npos, is_routed) << all;
  }
}

// A router's additions to a body are not the client's.
TEST(Routed, BodiesMayBeLonger) {
  serve::ServerOptions options = tiny_server_options();
  options.max_body_bytes = 200;
  const RunningServer server(options);
  Json body = kShortBody;
  body["user"] = std::string(300, 'x');
  EXPECT_EQ(status_of(server, ""), 200);
  EXPECT_EQ(status_of(server, "", "/v1/completions", body), 413);
  EXPECT_EQ(status_of(server, routed_line(), "/v1/completions", body), 200);
}

TEST(ReplicaReport, TellsTheBeginningsOfPrompts) {
  const RunningServer server;
  const auto ask = [&](const std::string& prompt, const Json& more, const std::string& headers) {
    Json body = {{"model", "tiny"}, {"prompt", prompt}, {"max_tokens", 1}};
    body.update(more);
    EXPECT_EQ(ask_routed(server.port(), "/v1/completions", body, headers).status, 200);
  };
  EXPECT_EQ(report_of(server)["held"]["pieces"], Json::array());
  const std::string prompt(600, 'a');
  ask(prompt, Json::object(), routed_line({{"owner", "5"}}));
  const Json held = report_of(server)["held"];
  std::vector<std::string> expected;
  for (const Piece piece : pieces_of("tiny\n" + prompt, 5))
    expected.push_back(fmt::format("{:016x}", piece));
  std::vector<std::string> found = held["pieces"];
  std::ranges::sort(found);
  std::ranges::sort(expected);
  ASSERT_EQ(expected.size(), 2U);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(held["reset"], true);
  // Pieces of other clients, and of prompts that are not kept, are not told.
  ask(std::string(600, 'b'), Json::object(), "");
  ask(std::string(600, 'c'), {{"cache", false}}, routed_line());
  Json later = report_of(server, held["version"])["held"];
  EXPECT_EQ(later["pieces"], Json::array());
  EXPECT_EQ(later["reset"], false);
  ask(prompt.substr(0, 300) + std::string(300, 'd'), Json::object(), routed_line({{"owner", "5"}}));
  later = report_of(server, held["version"])["held"];
  EXPECT_EQ(later["pieces"].size(), 1U);
  EXPECT_EQ(report_of(server, 1'000'000)["held"]["reset"], true);
}

}  // namespace
}  // namespace pando::testing
