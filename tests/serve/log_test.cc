// The log tells of requests, under these names.
#include <chrono>
#include <regex>

#include "serve/client.h"
#include "serve/log_lines.h"
#include "serve/request_log.h"

namespace pando::testing {
namespace {

serve::ServerOptions logging_to(Lines& lines) {
  serve::ServerOptions options = tiny_server_options();
  log_to(lines, options);
  return options;
}

void expect_line(const std::string& line, const std::string& pattern) {
  const std::regex whole(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z 127\.0\.0\.1:\d+ )" + pattern +
                         "\n");
  EXPECT_TRUE(std::regex_match(line, whole)) << line << "expected " << pattern;
}

TEST(Log, ALineForEachRequest) {
  Lines lines;
  serve::ServerOptions options = logging_to(lines);
  options.api_keys = {"a-key-that-is-long"};
  RunningServer server(options);
  const std::string key = "a-key-that-is-long";
  const std::string body =
      R"({"prompt": "Secret words.", "max_tokens": 3, "ignore_eos": true, "n": 2})";
  Client client(server.port());
  const Answer plain = client.ask("POST", "/v1/completions", body, key);
  EXPECT_EQ(plain.json()["id"], "cmpl-" + plain.request_id);
  client.send(post_text("/v1/completions", body,
                        "X-Request-Id: mine-7\r\nAuthorization: Bearer " + key + "\r\n"));
  EXPECT_EQ(client.read().request_id, "mine-7");
  client.send(post_text("/v1/completions?prompt=Secret",
                        R"({"prompt": "Secret words.", "temperature": -1})",
                        "X-Request-Id: two words\r\nAuthorization: Bearer " + key + "\r\n"));
  const Answer wrong = client.read();
  EXPECT_NE(wrong.request_id, "two words");
  const Answer stranger = client.ask("POST", "/v1/completions", body, "no-key-of-this-server");
  EXPECT_EQ(stranger.status, 401);
  lines.wait_for(4);
  Client confused(server.port());
  confused.send("GET\r\n\r\n");
  EXPECT_NE(confused.read_all().find("X-Request-Id: "), std::string::npos);
  const std::vector<std::string> said = lines.wait_for(5);
  ASSERT_EQ(said.size(), 5u);
  const std::string path = "POST /v1/completions ";
  expect_line(said[0],
              path + R"(200 \d+\.\d{3}s prompt=13 cached=0 answer=6 id=)" + plain.request_id);
  expect_line(said[1], path + R"(200 \d+\.\d{3}s prompt=13 cached=\d+ answer=6 id=mine-7)");
  expect_line(
      said[2],
      path +
          R"(400 \d+\.\d{3}s prompt=13 cached=0 answer=0 error=invalid_argument param=temperature id=)" +
          wrong.request_id);
  expect_line(said[3], path + R"(401 \d+\.\d{3}s error=invalid_api_key id=)" + stranger.request_id);
  expect_line(said[4], R"(- - 400 \d+\.\d{3}s error=bad_request id=[0-9a-f]{16})");
  for (const std::string& line : said)
    for (const char* secret : {"Secret", "long", "no-key"})
      EXPECT_EQ(line.find(secret), std::string::npos) << line;
}

TEST(Log, QuestionsOfRoutersGetNoLines) {
  Lines lines;
  RunningServer server(logging_to(lines));
  Client client(server.port());
  EXPECT_EQ(client.post("/v1/replica", {{"since", 0}}).status, 200);
  EXPECT_EQ(client.post("/v1/replica", {{"since", "x"}}).status, 400);
  EXPECT_EQ(client.get("/v1/models").status, 200);
  const std::vector<std::string> said = lines.wait_for(2);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_NE(said[0].find(" /v1/replica 400 "), std::string::npos) << said[0];
  EXPECT_NE(said[1].find(" /v1/models 200 "), std::string::npos) << said[1];
}

TEST(Log, TheNameOfTheKey) {
  Lines lines;
  serve::ServerOptions options = logging_to(lines);
  options.api_keys = {"team-7: a-key-that-is-long", "another-key-that-is-long"};
  RunningServer server(options);
  Client client(server.port());
  EXPECT_EQ(client.ask("GET", "/v1/models", "", "a-key-that-is-long").status, 200);
  EXPECT_EQ(client.ask("GET", "/nothing", "", "a-key-that-is-long").status, 404);
  EXPECT_EQ(client.ask("GET", "/v1/models", "", "another-key-that-is-long").status, 200);
  EXPECT_EQ(client.ask("GET", "/v1/models", "", "team-7").status, 401);
  EXPECT_EQ(client.get("/health").status, 200);
  const std::vector<std::string> said = lines.wait_for(5);
  ASSERT_EQ(said.size(), 5u);
  expect_line(said[0], R"(GET /v1/models 200 \S+ key=team-7 id=\S+)");
  expect_line(said[1], R"(GET /nothing 404 \S+ error=not_found key=team-7 id=\S+)");
  expect_line(said[2], R"(GET /v1/models 200 \S+ id=\S+)");
  expect_line(said[3], R"(GET /v1/models 401 \S+ error=invalid_api_key id=\S+)");
  expect_line(said[4], R"(GET /health 200 \S+ id=\S+)");
}

TEST(Log, StreamsAndThoseWhoLeave) {
  Lines lines;
  RunningServer server(logging_to(lines));
  Client client(server.port());
  const Answer streamed =
      client.ask("POST", "/v1/completions",
                 R"({"prompt": "P", "max_tokens": 4, "ignore_eos": true, "stream": true})");
  EXPECT_NE(streamed.request_id, "");
  EXPECT_EQ(client.ask("POST", "/v1/embeddings", R"({"input": "Four"})").status, 200);
  lines.wait_for(2);  // the thread of another connection may be faster
  Client leaving(server.port());
  Json endless = endless_body(kManyAnswers);
  endless.update({{"prompt", "P"}, {"stream", true}});
  leaving.begin("/v1/completions", endless);
  leaving.skip_until("data: ");
  leaving.close();
  const std::vector<std::string> said = lines.wait_for(3);
  ASSERT_EQ(said.size(), 3u);
  expect_line(said[0], R"(POST /v1/completions 200 \S+ prompt=1 cached=0 answer=4 id=)" +
                           streamed.request_id);
  expect_line(said[1], R"(POST /v1/embeddings 200 \S+ prompt=4 cached=0 answer=0 id=\S+)");
  expect_line(said[2], R"(POST /v1/completions 499 \S+ prompt=1 cached=\d answer=\d+ id=\S+)");
}

TEST(Log, OfErrorsAloneOrOfNone) {
  Lines errors, none;
  serve::ServerOptions options = logging_to(errors);
  options.log_requests = serve::LogRequests::kErrors;
  RunningServer one(options);
  options = logging_to(none);
  options.log_requests = serve::LogRequests::kNone;
  RunningServer other(options);
  for (RunningServer* server : {&one, &other}) {
    Client client(server->port());
    EXPECT_EQ(client.get("/health").status, 200);
    EXPECT_EQ(client.get("/v1/models/other").status, 404);
  }
  expect_line(errors.wait_for(1).at(0),
              R"(GET /v1/models/other 404 \S+ error=model_not_found id=\S+)");
  one.stop();
  other.stop();
  EXPECT_EQ(errors.all().size(), 3u);
  EXPECT_EQ(none.all().size(), 2u);
  for (Lines* lines : {&errors, &none}) {
    const std::vector<std::string> said = lines->all();
    EXPECT_NE(said.at(said.size() - 2).find("Z stopping: "), std::string::npos);
    EXPECT_NE(said.back().find("Z stopped: all requests are answered"), std::string::npos);
  }
}

TEST(Log, OneRequestIsOne) {
  Lines lines;
  RunningServer server(logging_to(lines));
  Client client(server.port());
  Json endless = endless_body(kManyAnswers);
  endless.update({{"prompt", "P"}, {"stream", true}});
  client.begin("/v1/completions", endless);
  client.skip_until("data: ");
  server.server().stop();
  const std::vector<std::string> said = lines.wait_for(1);
  ASSERT_FALSE(said.empty());
  EXPECT_NE(
      said[0].find("stopping: 1 request is in progress, on 1 connection; they have 10 s to finish"),
      std::string::npos)
      << said[0];
  client.close();
}

// Separators of Unicode would make two lines, or more fields, of one.
TEST(Log, APathIsOneWord) {
  Lines lines;
  RunningServer server(logging_to(lines));
  Client(server.port()).send("GET /a\u2028b\u00a0c HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::vector<std::string> said = lines.wait_for(1);
  ASSERT_EQ(said.size(), 1u);
  expect_line(said[0], R"(GET /a%E2%80%A8b%C2%A0c \d+ \S+ (error=\S+ )?id=\S+)");
}

TEST(Log, WhichWordsOfOthersAreRepeated) {
  for (const std::string& good :
       {std::string("a"), std::string("7f-ab:c/d_e.f"), std::string(128, 'x')})
    EXPECT_TRUE(serve::is_log_word(good)) << good;
  for (const std::string& bad : {std::string(), std::string("a b"), std::string("a\nb"),
                                 std::string("\xc3\xa4"), std::string(129, 'x')})
    EXPECT_FALSE(serve::is_log_word(bad)) << bad;
}

}  // namespace
}  // namespace pando::testing
