// Who waits for whom, and for how long.
#include <chrono>
#include <thread>

#include "serve/client.h"

namespace pando::testing {
namespace {

using namespace std::chrono_literals;

TEST(Timing, ShortRequestsDoNotWaitForLongTexts) {
  serve::ServerOptions options = tiny_server_options();
  options.text_threads = 1;
  RunningServer server(options);
  Client first(server.port()), second(server.port()), client(server.port());
  const Json text = {{"prompt", std::string(4 << 20, 'a')}};
  first.begin("/tokenize", text);
  second.begin("/tokenize", text);
  EXPECT_EQ(client.get("/health").status, 200);
  EXPECT_EQ(client.post("/v1/completions", {{"prompt", "P"}, {"max_tokens", 1}}).status, 200);
  EXPECT_EQ(second.n_waiting(), 0u) << "it is still being read";
  EXPECT_EQ(first.read().status, 200);
  EXPECT_EQ(second.read().status, 200);
}

// A text that stands in a body once may be read for each question.
TEST(Timing, ShortRequestsDoNotWaitForShortBodiesThatAskForMuch) {
  serve::ServerOptions options = tiny_server_options();
  options.text_threads = 1;
  RunningServer server(options);
  Client first(server.port()), second(server.port()), client(server.port());
  const Json much = {{"context", std::string(30'000, 'a')},
                     {"questions", Json(300, "q")},
                     {"choices", {"a", "b"}}};
  first.begin("/v1/answers", much);
  second.begin("/v1/answers", much);
  EXPECT_EQ(client.get("/health").status, 200);
  EXPECT_EQ(client.post("/v1/completions", {{"prompt", "P"}, {"max_tokens", 1}}).status, 200);
  EXPECT_EQ(second.n_waiting(), 0u) << "it is still being read";
  EXPECT_EQ(first.read().status, 400);
  EXPECT_EQ(second.read().status, 400);
}

TEST(Timing, ASlowClientGetsAllOfALongAnswer) {
  serve::ServerOptions options = tiny_server_options();
  options.write_timeout = options.idle_timeout = 1s;  // and then it closes
  RunningServer server(options);
  constexpr size_t kTokens = size_t{4} << 20;  // three bytes each, more than sockets hold
  const std::string asked =
      post_text("/tokenize", Json{{"prompt", std::string(kTokens, 'a')}}.dump());
  Client client(server.port());
  client.set_receive_buffer(1 << 20);
  client.send(asked);
  constexpr size_t kPart = size_t{400} << 10;
  size_t n_read = 0;
  for (size_t n = kPart; n_read < 3 * kTokens && n == kPart; n_read += n) {
    n = client.skip(kPart);
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_GE(n_read, 3 * kTokens);
}

}  // namespace
}  // namespace pando::testing
