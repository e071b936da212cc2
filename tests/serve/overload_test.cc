// More than there is room or time for: queues, long lists, timeouts, and the end of a server.
#include <unistd.h>

#include <atomic>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <csignal>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "serve/client.h"

namespace pando::testing {
namespace {

using namespace std::chrono_literals;

// A request of 500 tokens, at each of which the engine's thread sleeps: no answer of so many tokens
// that is asked for after it ends within 25 s, as long as this lives.
class SlowSteps {
 public:
  explicit SlowSteps(Engine& engine, Request request = tiny_request("Slow.", 500))
      : engine_(engine) {
    request.sampling.logprobs = true;  // so that each token is told
    const Result<RequestId> id = engine.submit(
        std::move(request), [is_over = is_over_, n_told = n_told_](const Event& event) {
          ++*n_told;
          if (event.choice == 0 && !*is_over) std::this_thread::sleep_for(50ms);
        });
    if (!id) throw std::runtime_error(id.error().message());
    id_ = *id;
    EXPECT_TRUE(soon([&] { return *n_told_ > 0; }));
  }
  ~SlowSteps() {
    *is_over_ = true;
    engine_.cancel(id_);
  }
  SlowSteps(const SlowSteps&) = delete;
  SlowSteps& operator=(const SlowSteps&) = delete;

 private:
  Engine& engine_;
  RequestId id_ = 0;
  const std::shared_ptr<std::atomic<bool>> is_over_ = std::make_shared<std::atomic<bool>>(false);
  const std::shared_ptr<std::atomic<int>> n_told_ = std::make_shared<std::atomic<int>>(0);
};

TEST(Overload, AFullQueueIsSaid) {
  EngineOptions options = tiny_options();
  options.max_open = 65;
  RunningServer server(tiny_server_options(), options);
  std::optional<SlowSteps> slow(server.engine());
  Client first(server.port());
  first.begin("/v1/completions", endless_body());
  ASSERT_TRUE(soon([&] { return server.engine().stats().open_answers == 65; }));
  const Answer refused = Client(server.port()).post("/v1/completions", {{"prompt", "P"}});
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_EQ(refused.json()["error"]["type"], "rate_limit_error");
  EXPECT_NE(refused.retry_after, "");
  first.close();
  slow.reset();
  EXPECT_TRUE(soon([&] {
    return Client(server.port()).post("/v1/completions", {{"prompt", "P"}}).status == 200;
  }));
}

// More prompts than the engine takes at a time.
TEST(Overload, ManyPromptsWaitForEachOther) {
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

TEST(Overload, WhatTheMemoryHoldsIsTheLongestPrompt) {
  EngineOptions options = tiny_options();
  options.kv_memory = size_t{64} << 10;
  RunningServer server(tiny_server_options(), options);
  const size_t room = server.engine().kv_capacity();
  ASSERT_LT(room, static_cast<size_t>(server.engine().options().context));
  EXPECT_EQ(Client(server.port()).get("/v1/models").json()["data"][0]["max_model_len"], room);
  EXPECT_EQ(Client(server.port()).post("/tokenize", {{"prompt", "P"}}).json()["max_model_len"],
            room);
}

// A list is looked at before the first of its prompts is computed.
TEST(Overload, TheLastOfALongListIsRefusedAtOnce) {
  EngineOptions options = tiny_options();
  options.max_open = 4;
  RunningServer server(tiny_server_options(), options);
  Json prompts(30, Json::array({1, 2, 3}));
  prompts.push_back({1, 999999});
  const Answer refused = Client(server.port()).post("/v1/completions", {{"prompt", prompts}});
  EXPECT_EQ(refused.status, 400) << refused.body;
  EXPECT_EQ(refused.json()["error"]["param"], "prompt[30]") << refused.body;
  EXPECT_EQ(server.engine().stats().arrived_tokens, 0u);
}

// However long a list is, half of the places stay free for others.
TEST(Overload, AListOfManyPromptsLeavesRoomForOthers) {
  EngineOptions options = tiny_options();
  options.max_open = 8;
  RunningServer server(tiny_server_options(), options);
  Client busy(server.port());
  Json body = endless_body();
  body.update({{"prompt", Json(4000, "Goes on.")}, {"n", 1}});
  busy.begin("/v1/completions", body);
  ASSERT_TRUE(soon([&] { return server.engine().stats().open_answers == 4; }));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Client(server.port()).post("/v1/completions", {{"prompt", "P"}, {"n", 4}}).status,
              200);
    // None for a moment, where all of them end in one step.
    EXPECT_TRUE(soon([&] { return server.engine().stats().open_answers == 4; }))
        << "the list is over";
  }
}

// A refusal of the engine is a status, though it comes when a stream would have begun.
TEST(Overload, WhatIsTooMuchIsRefusedBeforeItBegins) {
  EngineOptions options = tiny_options();
  options.max_queue = 0.001;
  RunningServer server(tiny_server_options(), options);
  std::optional<SlowSteps> busy(std::in_place, server.engine(), endless_request("Goes on."));
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
  busy.reset();
  EXPECT_TRUE(soon([&] {
    return Client(server.port()).post("/v1/completions", {{"prompt", "One."}}).status == 200;
  }));
}

// Once something of a list was let in, the rest of it waits for room.
TEST(Overload, AListThatIsTooMuchAtOnceIsAnswered) {
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

TEST(Overload, AnAnswerThatTakesTooLong) {
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
  options.max_running = 3;
  return options;
}

// A stream that takes far longer than a test and has begun. It says little at a time, so that the
// connection has room for the error at its end.
struct SlowStream {
  explicit SlowStream(RunningServer& server) : steps(server.engine()), client(server.port()) {
    Json body = endless_body();
    body.update({{"prompt", Json::array()}, {"n", 8}, {"stream", true}});
    for (int i = 0; i < 60; ++i) body["prompt"].push_back("Goes on " + std::to_string(i));
    client.begin("/v1/completions", body);
    EXPECT_TRUE(soon([&] { return client.n_waiting() > 0; }));
  }
  SlowSteps steps;
  Client client;
};

// The same, and a request that waits behind it.
struct SlowOnes : SlowStream {
  explicit SlowOnes(RunningServer& server) : SlowStream(server), waiting(server.port()) {
    waiting.begin("/v1/completions", endless_body());
    EXPECT_TRUE(soon([&] { return server.engine().stats().open_answers > 1 + 480; }));
  }
  Client waiting;
};

// A stream that has begun says why it ends.
TEST(Overload, AStreamThatTakesTooLong) {
  serve::ServerOptions options = tiny_server_options();
  options.request_timeout = 4s;
  RunningServer server(options, slow_options());
  SlowStream slow(server);
  const Answer answer = slow.client.read();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.events().back()["error"]["code"], "timeout");
}

TEST(Overload, WhatAServerThatStopsCannotAnswerIsTold) {
  serve::ServerOptions options = tiny_server_options();
  options.drain_timeout = 1s;
  RunningServer server(options, slow_options());
  SlowOnes slow(server);
  const std::jthread stopping([&] { server.stop(); });
  const Answer begun = slow.client.read(), refused = slow.waiting.read();
  EXPECT_EQ(begun.status, 200);
  EXPECT_EQ(begun.events().back()["error"]["code"], "shutting_down");
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.json()["error"]["code"], "shutting_down");
  EXPECT_NE(refused.retry_after, "");
}

TEST(Overload, SigtermMayLeaveRequestsNoTime) {
  serve::ServerOptions options = tiny_server_options();
  options.sigterm_drain_timeout = 0s;
  std::mutex mutex;
  std::string log;
  options.log = [&](const std::string& line) {
    const std::scoped_lock lock(mutex);
    log += line;
  };
  RunningServer server(options, open_tiny(slow_options()), /*stop_on_signals=*/true);
  SlowOnes slow(server);
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(slow.client.read().events().back()["error"]["code"], "shutting_down");
  EXPECT_EQ(slow.waiting.read().json()["error"]["code"], "shutting_down");
  server.join();
  EXPECT_NE(log.find("they have 0 s to finish"), std::string::npos) << log;
}

TEST(Overload, AServerThatStopsAnswersWhatIsUnderWay) {
  RunningServer server;
  Client idle(server.port()), busy(server.port());
  EXPECT_EQ(idle.get("/health").status, 200);
  Json body = endless_body();
  body["n"] = 8;
  body["max_tokens"] = 200;
  busy.begin("/v1/completions", body);
  ASSERT_TRUE(soon([&] { return server.engine().stats().steps > 1; }));
  server.stop();
  EXPECT_EQ(busy.read().status, 200);
  EXPECT_EQ(idle.read_all(), "");
  EXPECT_THROW(Client(server.port()), boost::system::system_error);
}

}  // namespace
}  // namespace pando::testing
