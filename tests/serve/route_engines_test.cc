// A router before engines, one of which breaks off its streams at many bytes.
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "model/test_files.h"
#include "serve/certificate.h"
#include "serve/client.h"
#include "serve/routed_testing.h"
#include "serve/running_router.h"
#include "serve/scripted_replica.h"

namespace pando::testing {
namespace {

// Members that differ between equal answers: ids, times, and what was cached.
std::string normalised(const Answer& answer) {
  std::string text = std::regex_replace(answer.body, std::regex(answer.request_id), "ID");
  static const std::regex kOwn(
      R"x("(created|created_at|completed_at|cached_tokens|cache_read_input_tokens|input_tokens)":\d+)x");
  return std::regex_replace(text, kOwn, R"("$1":0)");
}

// Passes requests on to a server, and breaks off after so many bytes of the answer.
class BreakingProxy {
 public:
  explicit BreakingProxy(uint16_t server)
      : server_(server), replica_([this](ScriptedAnswer& answer) { pass(answer); }) {
    Client client(server);
    const nlohmann::json status = client.post("/v1/replica", {{"since", 0}}).json();
    for (const auto& [member, value] : status.items()) replica_.set_status(member.c_str(), value);
  }
  uint16_t port() const { return replica_.port(); }
  int n_asked() const { return replica_.n_asked(); }
  std::atomic<size_t> n_bytes{0};

 private:
  void pass(ScriptedAnswer& answer) {
    Client client(server_);
    const std::string target(answer.request.target()), routed(answer.request["X-Pando-Routed"]);
    client.send(post_text(target, answer.request.body(),
                          "Connection: close\r\nX-Pando-Routed: " + routed + "\r\n"));
    answer.write_text(client.read_all().substr(0, n_bytes));
    answer.die();
  }

  const uint16_t server_;
  ScriptedReplica replica_;
};

struct RoutedCase {
  const char* path;
  Json body;
};

std::vector<RoutedCase> routed_cases() {
  const Json common = {{"model", "tiny"}, {"stream", true}, {"ignore_eos", true}};
  std::vector<RoutedCase> cases = {
      {"/v1/completions",
       {{"prompt", "A prompt."}, {"max_tokens", 12}, {"seed", 3}, {"presence_penalty", 0.5}}},
      {"/v1/completions", {{"prompt", "Two."}, {"max_tokens", 6}, {"logprobs", 2}, {"seed", 4}}},
      {"/v1/chat/completions",
       {{"messages", {{{"role", "user"}, {"content", "Hello"}}}},
        {"max_tokens", 8},
        {"seed", 5},
        {"stream_options", {{"include_usage", true}}}}},
  };
  for (RoutedCase& one : cases) one.body.update(common);
  cases.push_back({"/v1/messages",
                   {{"model", "tiny"},
                    {"stream", true},
                    {"messages", {{{"role", "user"}, {"content", "Hello"}}}},
                    {"max_tokens", 8},
                    {"temperature", 0}}});
  return cases;
}

TEST(RouteEngines, StreamsGoOnWithTheSameBytes) {
  RunningServer server;
  BreakingProxy proxy(server.port());
  serve::RouteOptions route;
  route.longest_pause = std::chrono::milliseconds(100);
  RunningRouter whole({server.port()}), broken({proxy.port(), server.port()}, route);
  Client to_whole(whole.port()), to_broken(broken.port());
  constexpr size_t kCuts = 12;
  for (const RoutedCase& one : routed_cases()) {
    const Answer undisturbed = to_whole.post(one.path, one.body);
    ASSERT_EQ(undisturbed.status, 200) << undisturbed.body;
    const std::string expected = normalised(undisturbed);
    for (size_t cut = 0; cut < kCuts; ++cut) {
      proxy.n_bytes = 150 + cut * (expected.size() + 150) / kCuts;
      const int n_before = proxy.n_asked();
      while (proxy.n_asked() == n_before) {  // else the router chose the server at once
        ASSERT_TRUE(soon([&] { return broken.door().replicas.up().size() == 2; }));
        EXPECT_EQ(normalised(to_broken.post(one.path, one.body)), expected)
            << one.path << " after " << proxy.n_bytes << " bytes";
      }
    }
  }
}

// Without a seed of the client's, all replicas have the router's, whatever their engines have.
TEST(RouteEngines, AnswersHaveOneSeed) {
  EngineOptions other = tiny_options();
  other.seed = 5;
  RunningServer first, second(tiny_server_options(), other);
  BreakingProxy proxy(first.port());
  proxy.n_bytes = 900;
  RunningRouter router({proxy.port(), second.port()});
  Client client(router.port());
  const Json body = {{"model", "tiny"}, {"prompt", "P"},      {"max_tokens", 12},
                     {"stream", true},  {"temperature", 1.5}, {"ignore_eos", true}};
  for (bool is_broken = false; !is_broken; is_broken = proxy.n_asked() > 0) {
    const Answer answer = client.post("/v1/completions", body);
    const uint64_t seed = std::stoull(answer.request_id, nullptr, 16);
    const std::string routed =
        routed_line({{"id", answer.request_id}, {"seed", seed}, {"tokens", false}});
    const Answer whole = ask_routed(first.port(), "/v1/completions", body, routed);
    EXPECT_EQ(whole.status, 200) << whole.body;
    EXPECT_EQ(normalised(answer), normalised(whole));
  }
}

TEST(RouteEngines, ReplicasWithTls) {
  const TemporaryFolder folder;
  const Certificate certificate(folder.path());
  serve::ServerOptions options = tiny_server_options();
  options.tls_certificate = certificate.certificate;
  options.tls_key = certificate.key;
  RunningServer server(options);
  serve::RouteOptions route;
  route.replicas.push_back({.is_tls = true, .host = "localhost", .port = server.port()});
  route.ca_file = certificate.certificate;
  RunningRouter router({}, route, tiny_server_options(), /*n_up=*/1);
  Client client(router.port());
  EXPECT_EQ(client.post("/v1/completions", {{"prompt", "P"}, {"max_tokens", 2}}).status, 200);
  // The certificate is for another name.
  route.replicas[0].host = "127.0.0.1";
  RunningRouter wrong({}, route);
  Client refused(wrong.port());
  EXPECT_EQ(refused.get("/ready").status, 503);
}

TEST(RouteEngines, KeysOfRouters) {
  serve::ServerOptions options = tiny_server_options();
  options.router_keys = {"router:0123456789abcdef"};
  options.router_only = true;
  RunningServer server(options);
  serve::RouteOptions route;
  RunningRouter without({server.port()}, route, tiny_server_options(), /*n_up=*/0);
  route.key = "0123456789abcdef";
  RunningRouter with({server.port()}, route);
  Client refused(without.port()), client(with.port());
  const Json body = {{"prompt", "P"}, {"max_tokens", 2}, {"ignore_eos", true}};
  EXPECT_EQ(refused.post("/v1/completions", body).status, 503);
  EXPECT_EQ(client.post("/v1/completions", body).status, 200);
  EXPECT_NE(client.get("/metrics").body.find("pando_generated_tokens_total 2"), std::string::npos);
}

}  // namespace
}  // namespace pando::testing
