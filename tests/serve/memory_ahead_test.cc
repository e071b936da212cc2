// How much memory for keys and values a server takes before it is used.
#include <chrono>
#include <thread>

#include "serve/metric_values.h"

namespace pando::testing {
namespace {

// Memory of keys and values that nobody asked for is not touched: a little at first, and then as
// much again as was used.
TEST(MemoryAhead, GrowsWithWhatIsUsed) {
  constexpr double kPiece = 2 * 0x1p20;  // that the engine touches at a time
  EngineOptions options = tiny_options();
  options.kv_ahead = size_t{32} << 20;
  options.kv_ahead_first = size_t{4} << 20;
  RunningServer server(tiny_server_options(), options);
  const auto ready = [&] { return metric_value(metrics_of(server), "pando_kv_ready_bytes"); };
  const auto settles_at = [&](double n_bytes) {
    return soon([&] { return ready() >= n_bytes; }) &&
           (std::this_thread::sleep_for(std::chrono::milliseconds(100)),
            ready() < n_bytes + kPiece);
  };
  EXPECT_TRUE(settles_at(4 * 0x1p20)) << ready();
  double used = 0;
  for (int i = 0; used < 7 * 0x1p20 && i < 1000; ++i) {
    const std::string prompt = std::to_string(i) + std::string(600, 'x');
    ASSERT_EQ(Client(server.port())
                  .post("/v1/completions", {{"prompt", prompt}, {"max_tokens", 1}})
                  .status,
              200);
    used = metric_value(metrics_of(server), "pando_kv_bytes");
  }
  ASSERT_GT(used, 6 * 0x1p20);
  EXPECT_TRUE(settles_at(used)) << ready() << " beside " << used;
}

}  // namespace
}  // namespace pando::testing
