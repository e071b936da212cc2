// API keys, and which prefixes their requests share.
#include "serve/client.h"

namespace pando::testing {
namespace {

TEST(Isolation, KeysShareNothing) {
  const std::string one = "one-key-that-is-long", two = "two-keys-that-are-long";
  serve::ServerOptions options = tiny_server_options();
  options.api_keys = {"# keys", "first:" + one, "", two};
  RunningServer server(options);
  Client client(server.port());
  EXPECT_EQ(client.get("/health").status, 200);
  EXPECT_EQ(client.get("/v1/models").status, 401);
  EXPECT_EQ(Client(server.port()).ask("GET", "/v1/models", "", "wrong").status, 401);
  const std::string body =
      R"({"prompt": "A prompt that is shared or not.", "max_tokens": 1, "sharing": true})";
  const auto reused = [&](const std::string& key) {
    const Answer answer = Client(server.port()).ask("POST", "/v1/completions", body, key);
    EXPECT_EQ(answer.status, 200);
    return answer.json()["sharing"]["reused"].get<int>();
  };
  EXPECT_EQ(reused(one), 0);
  EXPECT_GT(reused(one), 0);
  EXPECT_EQ(reused(two), 0);
  options.api_keys = {"short"};
  EXPECT_FALSE(serve::Server::open(server.engine(), options).ok());
}

TEST(Isolation, APublicPrefixLeavesRoom) {
  RunningServer server;
  serve::ServerOptions options = tiny_server_options();
  options.public_prefixes["long"] = std::string(640, 'x');
  const auto refused = serve::Server::open(server.engine(), options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(),
            "the public prefix 'long' has 640 tokens, expected fewer than the context of 640");
  options.public_prefixes["long"].pop_back();
  EXPECT_TRUE(serve::Server::open(server.engine(), options).ok());
}

TEST(Isolation, PublicPrefixesAreSharedByAllKeys) {
  const std::string one = "one-key-that-is-long", two = "two-keys-that-are-long";
  const std::string rules = "Rules that everybody may read, and does. ";
  serve::ServerOptions options = tiny_server_options();
  options.api_keys = {one, two};
  options.public_prefixes["rules"] = rules;
  RunningServer server(options);
  const auto ask = [&](const std::string& key, const std::string& path, const Json& fields) {
    Json body = {{"public_prefix", "rules"},
                 {"max_tokens", 2},
                 {"temperature", 0},
                 {"ignore_eos", true},
                 {"sharing", true}};
    body.update(fields);
    return Client(server.port()).ask("POST", path, body.dump(), key);
  };
  const auto reused = [&](const std::string& key, const std::string& path, const Json& fields) {
    const Answer answer = ask(key, path, fields);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.json()["sharing"]["reused"].get<size_t>();
  };
  const Json prompt = {{"prompt", rules + "What I ask is nobody's business."}};
  EXPECT_EQ(reused(one, "/v1/completions", prompt), 0u);
  EXPECT_EQ(reused(two, "/v1/completions", prompt), rules.size());
  EXPECT_GT(reused(two, "/v1/completions", prompt), rules.size()) << "its own";
  const Json chat = {{"messages",
                      {{{"role", "system"}, {"content", rules}},
                       {{"role", "user"}, {"content", "What I ask is nobody's business."}}}}};
  reused(one, "/v1/chat/completions", chat);
  const size_t of_chat = reused(two, "/v1/chat/completions", chat);
  EXPECT_GT(of_chat, rules.size());
  EXPECT_LT(of_chat, rules.size() + 40);
  // One answer is the same without it.
  Json alone = {{"public_prefix", nullptr}};
  alone.update(prompt);
  EXPECT_EQ(ask(one, "/v1/completions", alone).json()["choices"],
            ask(one, "/v1/completions", prompt).json()["choices"]);
  EXPECT_EQ(ask(one, "/v1/completions", {{"prompt", "Other rules"}}).status, 400);
  EXPECT_EQ(ask(one, "/v1/completions", {{"prompt", rules}, {"public_prefix", "x"}}).status, 400);
}

}  // namespace
}  // namespace pando::testing
