// Connections are served by these threads.
#include <atomic>
#include <thread>

#include "serve/client.h"

namespace pando::testing {
namespace {

TEST(ConnectionThreads, ANewConnectionGoesToTheThreadThatServesTheFewest) {
  std::atomic<int> n_logged = 0;
  std::atomic<std::thread::id> last;  // that logged, which the connection's thread does
  serve::ServerOptions options = tiny_server_options();
  options.io_threads = 2;
  options.max_connections = 2;  // the third is accepted once one is closed
  options.log = [&](const std::string&) {
    last = std::this_thread::get_id();
    ++n_logged;
  };
  RunningServer server(options);
  const auto thread_of = [&](Client& client) {
    const int n_before = n_logged;
    EXPECT_EQ(client.get("/health").status, 200);
    EXPECT_TRUE(soon([&] { return n_logged > n_before; }));
    return last.load();
  };
  Client first(server.port()), second(server.port());
  const std::thread::id of_first = thread_of(first), of_second = thread_of(second);
  EXPECT_NE(of_first, of_second);
  second.close();
  Client third(server.port());
  EXPECT_EQ(thread_of(third), of_second);
  first.close();
  Client fourth(server.port());
  EXPECT_EQ(thread_of(fourth), of_first);
}

}  // namespace
}  // namespace pando::testing
