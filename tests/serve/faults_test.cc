// Clients that leave, send garbage or too much; spellings, and what a connection may take.
#include <fmt/format.h>
#include <sys/resource.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <mutex>
#include <thread>

#include "serve/client.h"

namespace pando::testing {
namespace {

using namespace std::chrono_literals;

TEST(Faults, AClientThatLeavesIsDropped) {
  RunningServer server;
  for (const bool stream : {false, true}) {
    Client client(server.port());
    Json body = endless_body(kManyAnswers);
    body["stream"] = stream;
    client.begin("/v1/completions", body);
    const uint64_t before = server.engine().stats().steps;
    ASSERT_TRUE(soon([&] { return server.engine().stats().steps > before + 2; }));
    client.close();
    EXPECT_TRUE(soon([&] { return is_idle(server); })) << stream;
  }
  EXPECT_EQ(server.engine().stats().requests, 0u);
  // A request is counted once the engine has dropped it.
  EXPECT_TRUE(soon([&] {
    return Client(server.port()).get("/metrics").body.find("pando_cancelled_requests_total 2") !=
           std::string::npos;
  }));
}

TEST(Faults, AServerThatIsStoppedBeforeItRunsEnds) {
  for (const bool stop_on_signals : {false, true}) {
    const auto engine = open_tiny(tiny_options());
    auto server = serve::Server::open(*engine, tiny_server_options());
    ASSERT_TRUE(server) << server.error().message();
    (*server)->stop();
    (*server)->run(stop_on_signals);
  }
}

// The time between requests is another matter.
TEST(Faults, ARequestThatComesTooSlowlyEndsItsConnection) {
  serve::ServerOptions options = tiny_server_options();
  options.idle_timeout = std::chrono::hours(24);
  options.body_timeout = 1s;
  RunningServer server(options);
  for (const char* begun : {"POST /v1/comp", "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n",
                            "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                            "application/json\r\nContent-Length: 5\r\n\r\n{"}) {
    Client client(server.port());
    client.send(begun);
    client.read_all();  // until the server closes
  }
}

// One that asks for much and reads nothing of it.
TEST(Faults, AClientThatReadsNothingIsDropped) {
  serve::ServerOptions options = tiny_server_options();
  options.write_timeout = 1s;
  RunningServer server(options);
  Client client(server.port());
  Json body = endless_body();
  body.update({{"stream", true}, {"logprobs", 20}});
  client.begin("/v1/completions", body);
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
      streaming.begin("/v1/completions", {{"prompt", "P"}, {"max_tokens", 1}, {"stream", true}});
      streaming.skip_until("[DONE]\n\n");
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
  EXPECT_EQ(Client(server.port())
                .ask("POST", "/tokenize", "{}", "", "application/x-www-form-urlencoded")
                .json()["error"]["message"],
            "the content type is 'application/x-www-form-urlencoded', expected 'application/json' "
            "(hint: curl -H 'Content-Type: application/json')");
  for (const auto& [headers, status] :
       {std::pair{"Content-Encoding: gzip\r\n", 415},
        {"Content-Encoding: Identity\r\n", 400},
        {"Content-Encoding: identity\r\nContent-Encoding: gzip\r\n", 415}}) {
    Client packed(server.port());
    packed.send(post_text("/tokenize", "{}", headers));
    EXPECT_EQ(packed.read().status, status) << headers;
  }
}

// Bodies of several are bounded together; one alone is not.
TEST(Faults, BodiesHaveRoomTogether) {
  serve::ServerOptions options = tiny_server_options();
  options.max_bodies_bytes = 1000;
  RunningServer server(options);
  const std::string body = Json{{"prompt", std::string(1500, 'a')}}.dump();
  const std::string text = post_text("/tokenize", body);
  const size_t n_first = text.size() - body.size() + 900;
  Client slow(server.port());
  slow.send(text.substr(0, n_first));
  const auto slow_alone = [&] {
    return Client(server.port()).get("/metrics").body.find("pando_body_bytes 900\n") !=
           std::string::npos;
  };
  ASSERT_TRUE(soon(slow_alone));
  const Json other = {{"prompt", std::string(500, 'b')}};
  EXPECT_EQ(Client(server.port()).post("/tokenize", other).status, 429);
  ASSERT_TRUE(soon(slow_alone)) << "a refused body keeps its room until that is told";
  EXPECT_EQ(Client(server.port()).post("/tokenize", {{"prompt", "b"}}).status, 200);
  slow.send(text.substr(n_first));
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
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "UndefinedBehaviorSanitizer looks at types of exceptions by a pipe";
#endif
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
    return log.find("cannot accept a connection, trying again: ") != std::string::npos;
  });
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(is_told) << log;
  EXPECT_EQ(Client(server.port()).get("/health").status, 200);
}

TEST(Faults, Pipelining) {
  RunningServer server;
  Client client(server.port());
  const std::string one =
      post_text("/v1/completions", R"({"prompt": "abc", "max_tokens": 3, "temperature": 0})");
  client.send(one + one + "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const Json first = client.read().json(), second = client.read().json();
  EXPECT_EQ(first["choices"], second["choices"]);
  EXPECT_EQ(client.read().status, 200);
}

// As a GET without its body, refused or not: the next answer follows at once.
TEST(Faults, AHeadHasNoBody) {
  RunningServer server;
  Client client(server.port());
  const auto asked = [](const char* line, const char* more) {
    return fmt::format("{} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", line, more);
  };
  client.send(asked("HEAD /health", "") + asked("HEAD /none", "") +
              asked("HEAD /v1/completions", "") + asked("GET /health", "Connection: close\r\n"));
  const std::string all = client.read_all();
  std::vector<std::string> answers;  // each is its head, but for the last
  for (size_t begin = 0, end; begin < all.size(); begin = end) {
    end = std::min(all.find("HTTP/1.1 ", begin + 1), all.size());
    answers.push_back(all.substr(begin, end - begin));
  }
  ASSERT_EQ(answers.size(), 4u) << all;
  const char* const statuses[] = {"200", "404", "405", "200"};
  const std::string body = R"({"status":"ok"})";
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(answers[i].substr(9, 3), statuses[i]);
    EXPECT_TRUE(answers[i].ends_with(i == 3 ? "\r\n\r\n" + body : "\r\n\r\n")) << answers[i];
  }
  EXPECT_NE(answers[0].find(fmt::format("Content-Length: {}\r\n", body.size())), std::string::npos);
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
  for (const char* target :
       {"http://a/v1/models", "HTTP://a:80/v1/models?x=http://b/", "https://a/v1/models/tiny",
        "/health?http://a/b", "http://a", "http://a?/health"})
    EXPECT_EQ(client.get(target).status, 200) << target;
  for (const char* target : {"ftp://a/health", "/http://a/health"})
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

}  // namespace
}  // namespace pando::testing
