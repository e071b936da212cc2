// Who waits for whom, and for how long.
#include <boost/asio/post.hpp>
#include <chrono>
#include <latch>
#include <memory>
#include <thread>
#include <utility>

#include "serve/client.h"
#include "serve/server_state.h"
#include "serve/service.h"

namespace pando::testing {
namespace {

using namespace std::chrono_literals;

// A server whose only thread for long texts is busy until it is let go.
class BusyWithLongTexts {
 public:
  BusyWithLongTexts() : engine_(open_tiny()) {
    serve::ServerOptions options = tiny_server_options();
    options.text_threads = 1;
    serve::ServerState state = serve::open_state(options).value();
    serve::PublicPrefixes prefixes =
        serve::PublicPrefixes::make(engine_->model(), {}, kTinyContext).value();
    auto service = std::make_unique<serve::Service>(*engine_, options, std::move(state.keys),
                                                    std::move(prefixes), std::move(state.responses),
                                                    std::move(state.files));
    boost::asio::post(service->long_text_pool, [this] { busy_.wait(); });
    server_ = serve::Server::open(std::move(service)).value();
    thread_ = std::thread([this] { server_->run(/*stop_on_signals=*/false); });
  }
  ~BusyWithLongTexts() {
    let_go();
    server_->stop();
    thread_.join();
  }
  BusyWithLongTexts(const BusyWithLongTexts&) = delete;
  BusyWithLongTexts& operator=(const BusyWithLongTexts&) = delete;

  void let_go() {
    if (std::exchange(is_busy_, false)) busy_.count_down();
  }
  uint16_t port() const { return server_->port(); }

 private:
  bool is_busy_ = true;
  std::latch busy_{1};
  const std::unique_ptr<Engine> engine_;
  std::unique_ptr<serve::Server> server_;
  std::thread thread_;
};

// Asks for two of them, and meanwhile for what is short.
void ask_beside(const std::string& path, const Json& long_one, int status) {
  BusyWithLongTexts server;
  Client first(server.port()), second(server.port()), client(server.port());
  first.begin(path, long_one);
  second.begin(path, long_one);
  EXPECT_EQ(client.get("/health").status, 200);
  EXPECT_EQ(client.post("/v1/completions", {{"prompt", "P"}, {"max_tokens", 1}}).status, 200);
  EXPECT_EQ(first.n_waiting() + second.n_waiting(), 0u) << "they are still being read";
  server.let_go();
  EXPECT_EQ(first.read().status, status);
  EXPECT_EQ(second.read().status, status);
}

TEST(Timing, ShortRequestsDoNotWaitForLongTexts) {
  ask_beside("/tokenize", {{"prompt", std::string(1 << 20, 'a')}}, 200);
}

// A text that stands in a body once may be read for each question.
TEST(Timing, ShortRequestsDoNotWaitForShortBodiesThatAskForMuch) {
  ask_beside("/v1/answers",
             {{"context", std::string(30'000, 'a')},
              {"questions", Json(300, "q")},
              {"choices", {"a", "b"}}},
             400);
}

TEST(Timing, ASlowClientGetsAllOfALongAnswer) {
  serve::ServerOptions options = tiny_server_options();
  options.write_timeout = options.idle_timeout = 3s;
  RunningServer server(options);
  constexpr size_t kTokens = size_t{4} << 20;  // three bytes each, more than sockets hold
  const std::string asked = post_text(
      "/tokenize", Json{{"prompt", std::string(kTokens, 'a')}}.dump(), "Connection: close\r\n");
  Client client(server.port());
  client.set_receive_buffer(1 << 20);
  client.send(asked);
  constexpr size_t kPart = size_t{400} << 10;
  size_t n_read = 0;
  for (size_t n = kPart; n_read < 3 * kTokens && n == kPart; n_read += n) {
    n = client.skip(kPart);
    std::this_thread::sleep_for(400ms);
  }
  EXPECT_GE(n_read, 3 * kTokens);
}

}  // namespace
}  // namespace pando::testing
