// Clients that leave, send garbage or too much; keys, limits and the end of a server.
#include <sys/resource.h>

#include <atomic>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include "serve/client.h"

namespace pando::testing {
namespace {

using namespace std::chrono_literals;

Json endless_body() {
  return {{"prompt", "Goes on."}, {"n", 64}, {"max_tokens", 500}, {"ignore_eos", true}};
}

bool is_idle(RunningServer& server) {
  const uint64_t steps = server.engine().stats().steps;
  std::this_thread::sleep_for(50ms);
  return server.engine().stats().steps == steps;
}

TEST(Faults, AClientThatLeavesIsDropped) {
  RunningServer server;
  for (const bool stream : {false, true}) {
    Client client(server.port());
    Json body = endless_body();
    body["stream"] = stream;
    const std::string text = body.dump();
    client.send(
        "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
        "application/json\r\nContent-Length: " +
        std::to_string(text.size()) + "\r\n\r\n" + text);
    const uint64_t before = server.engine().stats().steps;
    ASSERT_TRUE(soon([&] { return server.engine().stats().steps > before + 2; }));
    client.close();
    EXPECT_TRUE(soon([&] { return is_idle(server); })) << stream;
  }
  EXPECT_EQ(server.engine().stats().requests, 0u);
  EXPECT_NE(Client(server.port()).get("/metrics").body.find("pando_cancelled_requests_total 2"),
            std::string::npos);
}

// One that asks for much and reads nothing of it.
TEST(Faults, AClientThatReadsNothingIsDropped) {
  serve::ServerOptions options = tiny_server_options();
  options.write_timeout = 1s;
  RunningServer server(options);
  Client client(server.port());
  Json body = endless_body();
  body.update({{"stream", true}, {"logprobs", 20}});
  const std::string text = body.dump();
  client.send(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
      "application/json\r\nContent-Length: " +
      std::to_string(text.size()) + "\r\n\r\n" + text);
  ASSERT_TRUE(soon([&] { return server.engine().stats().steps > 2; }));
  EXPECT_EQ(Client(server.port()).post("/v1/completions", {{"prompt", "P"}}).status, 200);
  Client watching(server.port());
  EXPECT_TRUE(soon([&] {
    return watching.get("/metrics").body.find("path=\"/v1/completions\",status=\"499\"") !=
           std::string::npos;
  }));
  EXPECT_TRUE(soon([&] { return is_idle(server); }));
  EXPECT_FALSE(client.read_all().ends_with("data: [DONE]\n\n\r\n0\r\n\r\n"));
}

// Whoever leaves with the whole answer is none that left early.
TEST(Faults, AClientThatLeavesAfterwardsIsAnswered) {
  RunningServer server;
  const auto ask = [&] {
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(Client(server.port()).get("/version").status, 200);
      Client streaming(server.port());
      const std::string body = R"({"prompt": "P", "max_tokens": 1, "stream": true})";
      streaming.send(
          "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
          "application/json\r\nContent-Length: " +
          std::to_string(body.size()) + "\r\n\r\n" + body);
      boost::asio::streambuf until_done;
      boost::asio::read_until(streaming.socket(), until_done, "[DONE]\n\n");
    }
  };
  std::thread other(ask);
  ask();
  other.join();
  EXPECT_TRUE(soon([&] {
    const std::string metrics = Client(server.port()).get("/metrics").body;
    return metrics.find("path=\"/version\",status=\"200\"} 400") != std::string::npos &&
           metrics.find("path=\"/v1/completions\",status=\"200\"} 400") != std::string::npos &&
           metrics.find("pando_cancelled_requests_total 0") != std::string::npos;
  })) << Client(server.port()).get("/metrics").body;
}

TEST(Faults, GarbageIsAnsweredOrDropped) {
  RunningServer server;
  std::string bytes;
  for (int i = 0; i < 3000; ++i) bytes += static_cast<char>(i * 37 + i / 7);
  for (const std::string& garbage :
       {std::string("\x16\x03\x01\x02garbage\r\n\r\n"), bytes, std::string("GET\r\n\r\n"),
        std::string("POST /v1/completions HTTP/1.1\r\nContent-Length: -5\r\n\r\n"),
        std::string("POST /v1/completions HTTP/9.9\r\n\r\n")}) {
    Client client(server.port());
    client.send(garbage);
    const std::string all = client.read_all();
    EXPECT_TRUE(all.starts_with("HTTP/1.1 400")) << all;
  }
  for (const char* body : {"", "{", "[]", "5", "\xff", "{\"prompt\": \"a\", \"prompt\": 5}"}) {
    const Answer answer = Client(server.port()).ask("POST", "/v1/completions", body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_EQ(answer.json()["error"]["type"], "invalid_request_error");
  }
  EXPECT_EQ(Client(server.port()).get("/health").status, 200);
}

TEST(Faults, Limits) {
  serve::ServerOptions options = tiny_server_options();
  options.max_body_bytes = 1000;
  options.max_header_bytes = 1000;
  RunningServer server(options);
  const std::string kLong(5000, 'x');
  EXPECT_EQ(Client(server.port()).ask("POST", "/tokenize", kLong).status, 413);
  EXPECT_EQ(Client(server.port()).ask("GET", "/" + kLong).status, 431);
  EXPECT_EQ(Client(server.port()).ask("POST", "/tokenize", "{}", "", "text/plain").status, 415);
}

// Bodies of several are bounded together; one alone is not.
TEST(Faults, BodiesHaveRoomTogether) {
  serve::ServerOptions options = tiny_server_options();
  options.max_bodies_bytes = 1000;
  RunningServer server(options);
  const std::string body = Json{{"prompt", std::string(1500, 'a')}}.dump();
  Client slow(server.port());
  slow.send(
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
      "application/json\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body.substr(0, 900));
  ASSERT_TRUE(soon([&] {
    return Client(server.port()).get("/metrics").body.find("pando_body_bytes 900\n") !=
           std::string::npos;
  }));
  const Json other = {{"prompt", std::string(500, 'b')}};
  EXPECT_EQ(Client(server.port()).post("/tokenize", other).status, 429);
  EXPECT_EQ(Client(server.port()).post("/tokenize", {{"prompt", "b"}}).status, 200);
  slow.send(body.substr(900));
  EXPECT_EQ(slow.read().status, 200);
  EXPECT_EQ(Client(server.port()).post("/tokenize", other).status, 200);
}

TEST(Faults, NoMoreConnectionsThanAllowed) {
  serve::ServerOptions options = tiny_server_options();
  options.max_connections = 2;
  RunningServer server(options);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 40; ++i) {
    clients.push_back(std::make_unique<Client>(server.port()));
    clients.back()->send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  for (const auto& client : clients) {
    const std::string metrics = client->read().body;
    EXPECT_TRUE(metrics.find("\npando_open_connections 1\n") != std::string::npos ||
                metrics.find("\npando_open_connections 2\n") != std::string::npos);
    client->close();
  }
}

// Whoever comes meanwhile is answered later.
TEST(Faults, WithoutFileDescriptorsItTriesAgain) {
  std::mutex mutex;
  std::string log;
  serve::ServerOptions options = tiny_server_options();
  options.log = [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    log += line;
  };
  RunningServer server(options);
  EXPECT_EQ(Client(server.port()).get("/health").status, 200);
  boost::asio::io_context context;
  boost::asio::ip::tcp::socket waiting(context, boost::asio::ip::tcp::v4());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  waiting.connect({boost::asio::ip::address_v4::loopback(), server.port()});
  const bool is_told = soon([&] {
    const std::lock_guard lock(mutex);
    return log.find("cannot take a connection, tries again: ") != std::string::npos;
  });
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(is_told) << log;
  EXPECT_EQ(Client(server.port()).get("/health").status, 200);
}

TEST(Faults, Pipelining) {
  RunningServer server;
  Client client(server.port());
  const std::string body = R"({"prompt": "abc", "max_tokens": 3, "temperature": 0})";
  const std::string one =
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
      "application/json\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  client.send(one + one + "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const Json first = client.read().json(), second = client.read().json();
  EXPECT_EQ(first["choices"], second["choices"]);
  EXPECT_EQ(client.read().status, 200);
}

// What answers a HEAD ends the connection, since it has a body.
TEST(Faults, AHeadIsRefused) {
  RunningServer server;
  Client client(server.port());
  client.send(
      "HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /health HTTP/1.1\r\nHost: "
      "localhost\r\n\r\n");
  const std::string all = client.read_all();
  EXPECT_TRUE(all.starts_with("HTTP/1.1 405")) << all;
  EXPECT_EQ(all.find("200 OK"), std::string::npos);
}

TEST(Faults, AHostIsNamedOnce) {
  RunningServer server;
  const auto status = [&](const std::string& head) {
    Client client(server.port());
    client.send(head + "\r\n");
    return client.read().status;
  };
  EXPECT_EQ(status("GET /health HTTP/1.1\r\n"), 400);
  EXPECT_EQ(status("GET /health HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n"), 400);
  EXPECT_EQ(status("GET /health HTTP/1.1\r\nHost: localhost\r\n"), 200);
  EXPECT_EQ(status("GET /health HTTP/1.0\r\n"), 200);
}

// As proxies are asked.
TEST(Faults, TargetsThatNameTheServer) {
  RunningServer server;
  Client client(server.port());
  for (const char* target : {"http://a/v1/models", "HTTP://a:80/v1/models?x=http://b/",
                             "https://a/v1/models/tiny", "/health?http://a/b"})
    EXPECT_EQ(client.get(target).status, 200) << target;
  for (const char* target : {"http://a", "http://a?/health", "ftp://a/health", "/http://a/health"})
    EXPECT_EQ(client.get(target).status, 404) << target;
}

TEST(Faults, SpellingsOfHeads) {
  serve::ServerOptions options = tiny_server_options();
  options.api_keys = {"a-key-that-is-long"};
  RunningServer server(options);
  Client client(server.port());
  client.send(
      "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nauthorization: bearer a-key-that-is-long\r\n"
      "content-type: Application/JSON; charset=utf-8\r\nContent-Length: 15\r\n\r\n"
      "{\"prompt\":\"ab\"}");
  EXPECT_EQ(client.read().status, 200);
}

TEST(Faults, AFullQueueIsSaid) {
  EngineOptions options = tiny_options();
  options.max_open = 64;
  RunningServer server(tiny_server_options(), options);
  Client first(server.port());
  const std::string text = endless_body().dump();
  first.send(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
      "application/json\r\nContent-Length: " +
      std::to_string(text.size()) + "\r\n\r\n" + text);
  ASSERT_TRUE(soon([&] { return server.engine().stats().steps > 1; }));
  const Answer refused = Client(server.port()).post("/v1/completions", {{"prompt", "P"}});
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_EQ(refused.json()["error"]["type"], "rate_limit_error");
  EXPECT_NE(refused.retry_after, "");
  first.close();
  EXPECT_TRUE(soon([&] {
    return Client(server.port()).post("/v1/completions", {{"prompt", "P"}}).status == 200;
  }));
}

// More prompts than the engine takes at a time.
TEST(Faults, ManyPromptsWaitForEachOther) {
  EngineOptions options = tiny_options();
  options.max_open = 4;
  RunningServer server(tiny_server_options(), options);
  Json prompts = Json::array();
  for (int i = 0; i < 30; ++i) prompts.push_back("Prompt " + std::to_string(i));
  const Answer answer =
      Client(server.port()).post("/v1/completions", {{"prompt", prompts}, {"max_tokens", 2}});
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json()["choices"].size(), 30u);
}

// However long a list is, half of the places stay free for others.
TEST(Faults, AListOfManyPromptsLeavesRoomForOthers) {
  EngineOptions options = tiny_options();
  options.max_open = 8;
  RunningServer server(tiny_server_options(), options);
  Client busy(server.port());
  Json body = endless_body();
  body.update({{"prompt", Json(200, "Goes on.")}, {"n", 1}});
  const std::string text = body.dump();
  busy.send(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
      "application/json\r\nContent-Length: " +
      std::to_string(text.size()) + "\r\n\r\n" + text);
  ASSERT_TRUE(soon([&] { return server.engine().stats().open_answers == 4; }));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Client(server.port()).post("/v1/completions", {{"prompt", "P"}, {"n", 4}}).status,
              200);
    // None for a moment, where all of them end in one step.
    EXPECT_TRUE(soon([&] { return server.engine().stats().open_answers == 4; }))
        << "the list is over";
  }
}

// What the engine refuses is a status, though it says so when a stream would have begun.
TEST(Faults, WhatIsTooMuchIsRefusedBeforeItBegins) {
  EngineOptions options = tiny_options();
  options.max_queue = 0.001;
  RunningServer server(tiny_server_options(), options);
  Client busy(server.port());
  Json endless = endless_body();
  endless["stream"] = true;
  const std::string text = endless.dump();
  busy.send(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
      "application/json\r\nContent-Length: " +
      std::to_string(text.size()) + "\r\n\r\n" + text);
  ASSERT_TRUE(soon([&] { return server.engine().stats().steps > 2; })) << "alone, anything";
  for (const bool stream : {false, true})
    for (const char* path : {"/v1/completions", "/v1/answers"}) {
      Json body = {{"stream", stream}, {"max_tokens", 5}};
      if (path == std::string("/v1/completions")) {
        body["prompt"] = {"One.", "Another."};
      } else {
        body.update({{"context", "A document."}, {"questions", {"Who?", "What?"}}});
      }
      const Answer refused = Client(server.port()).post(path, body);
      EXPECT_EQ(refused.status, 429) << refused.body;
      EXPECT_EQ(refused.content_type, "application/json");
      EXPECT_EQ(refused.json()["error"]["code"], "queue_full");
      EXPECT_GE(std::stoi(refused.retry_after), 1);
      EXPECT_LE(std::stoi(refused.retry_after), 60);
    }
  EXPECT_GT(server.engine().stats().open_answers, 0u);
  const std::string metrics = Client(server.port()).get("/metrics").body;
  EXPECT_NE(metrics.find("status=\"429\"} 2"), std::string::npos) << metrics;
  busy.close();
  EXPECT_TRUE(soon([&] {
    return Client(server.port()).post("/v1/completions", {{"prompt", "One."}}).status == 200;
  }));
}

// Once something of a list was let in, the rest of it waits for room.
TEST(Faults, AListThatIsTooMuchAtOnceIsAnswered) {
  EngineOptions options = tiny_options();
  options.max_queue = 0.001;
  RunningServer server(tiny_server_options(), options);
  std::vector<std::thread> clients;
  std::atomic<int> n_answered{0};
  for (int client = 0; client < 4; ++client)
    clients.emplace_back([&, client] {
      Json body = {{"prompt", Json::array()}, {"max_tokens", 20}, {"ignore_eos", true}};
      for (int i = 0; i < 20; ++i)
        body["prompt"].push_back("Client " + std::to_string(client) + ", prompt " +
                                 std::to_string(i));
      body["stream"] = client % 2 == 0;
      Answer answer;
      do {
        answer = Client(server.port()).post("/v1/completions", body);
      } while (answer.status == 429);
      EXPECT_EQ(answer.status, 200) << answer.body;
      EXPECT_EQ(answer.body.find("queue_full"), std::string::npos);
      if (client % 2 == 1) {
        EXPECT_EQ(answer.json()["choices"].size(), 20u);
      }
      ++n_answered;
    });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(n_answered, 4);
  EXPECT_EQ(server.engine().stats().open_answers, 0u);
}

TEST(Faults, KeysAndTheirIsolation) {
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

TEST(Faults, PublicPrefixesAreSharedByAllKeys) {
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
  // The same answer without it.
  Json alone = {{"public_prefix", nullptr}};
  alone.update(prompt);
  EXPECT_EQ(ask(one, "/v1/completions", alone).json()["choices"],
            ask(one, "/v1/completions", prompt).json()["choices"]);
  EXPECT_EQ(ask(one, "/v1/completions", {{"prompt", "Other rules"}}).status, 400);
  EXPECT_EQ(ask(one, "/v1/completions", {{"prompt", rules}, {"public_prefix", "x"}}).status, 400);
}

TEST(Faults, AnAnswerThatTakesTooLong) {
  serve::ServerOptions options = tiny_server_options();
  options.request_timeout = 1s;
  RunningServer server(options);
  Json body = endless_body();
  body["prompt"] = Json::array();
  for (int i = 0; i < 30; ++i) body["prompt"].push_back("Goes on " + std::to_string(i));
  const Answer answer = Client(server.port()).post("/v1/completions", body);
  EXPECT_EQ(answer.status, 504);
  EXPECT_EQ(answer.json()["error"]["code"], "timeout");
  EXPECT_TRUE(soon([&] { return is_idle(server); }));
}

EngineOptions slow_options() {
  EngineOptions options = tiny_options();
  options.max_running = 2;
  return options;
}

// A stream that takes far longer than a test and has begun, and a request that waits behind it.
struct SlowOnes {
  explicit SlowOnes(RunningServer& server) : streaming(server.port()), waiting(server.port()) {
    Json body = endless_body();
    body.update({{"prompt", Json::array()}, {"n", 1}, {"stream", true}});
    for (int i = 0; i < 200; ++i) body["prompt"].push_back("Goes on " + std::to_string(i));
    send(streaming, body);
    EXPECT_TRUE(soon([&] { return server.engine().stats().decode_rows > 10; }));
    send(waiting, endless_body());
    EXPECT_TRUE(soon([&] { return server.engine().stats().open_answers > 201; }));
  }
  static void send(Client& client, const Json& body) {
    const std::string text = body.dump();
    client.send(
        "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
        "application/json\r\nContent-Length: " +
        std::to_string(text.size()) + "\r\n\r\n" + text);
  }
  Client streaming, waiting;
};

// A stream that has begun says why it ends.
TEST(Faults, AStreamThatTakesTooLong) {
  serve::ServerOptions options = tiny_server_options();
  options.request_timeout = 2s;
  RunningServer server(options, slow_options());
  SlowOnes slow(server);
  const Answer answer = slow.streaming.read();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.events().back()["error"]["code"], "timeout");
}

TEST(Faults, WhatAServerThatStopsCannotAnswerIsTold) {
  serve::ServerOptions options = tiny_server_options();
  options.drain_timeout = 1s;
  RunningServer server(options, slow_options());
  SlowOnes slow(server);
  const auto start = std::chrono::steady_clock::now();
  std::thread stopping([&] { server.stop(); });
  const Answer begun = slow.streaming.read(), refused = slow.waiting.read();
  stopping.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 4s);
  EXPECT_EQ(begun.status, 200);
  EXPECT_EQ(begun.events().back()["error"]["code"], "shutting_down");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.json()["error"]["code"], "shutting_down");
  EXPECT_NE(refused.retry_after, "");
}

TEST(Faults, AServerThatStopsAnswersWhatIsUnderWay) {
  RunningServer server;
  Client idle(server.port()), busy(server.port());
  EXPECT_EQ(idle.get("/health").status, 200);
  Json body = endless_body();
  body["n"] = 8;
  body["max_tokens"] = 200;
  const std::string text = body.dump();
  busy.send(
      "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
      "application/json\r\nContent-Length: " +
      std::to_string(text.size()) + "\r\n\r\n" + text);
  ASSERT_TRUE(soon([&] { return server.engine().stats().steps > 1; }));
  server.stop();
  EXPECT_EQ(busy.read().status, 200);
  EXPECT_EQ(idle.read_all(), "");
  EXPECT_THROW(Client(server.port()), boost::system::system_error);
}

}  // namespace
}  // namespace pando::testing
