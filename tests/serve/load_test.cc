// Many streams at once, and many requests of which few are good. PANDO_STREAMS,
// PANDO_STREAM_TOKENS, PANDO_ROUNDS and PANDO_SOAK say how many, for longer runs than a unit
// test's.
#include <malloc.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <thread>

#include "serve/door_requests.h"

namespace pando::testing {
namespace {

int number_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : otherwise;
}

struct Megabytes {
  double resident;  // that the process has in memory
  double in_use;    // of these, what was allocated and is not free again
};
Megabytes memory() {
  std::ifstream file("/proc/self/statm");
  size_t n_pages = 0;
  file >> n_pages >> n_pages;
  const auto heap = mallinfo2();
  return {static_cast<double>(n_pages) * 4096e-6,
          1e-6 * static_cast<double>(heap.uordblks + heap.hblkhd)};
}

using Clock = std::chrono::steady_clock;

// One line: how many in how long, and the memory before and after.
void report(const char* what, int n, Clock::time_point start, Megabytes before) {
  const std::chrono::duration<double> seconds = Clock::now() - start;
  const Megabytes after = memory();
  std::cout << n << ' ' << what << " in " << seconds.count() << " s, " << n / seconds.count()
            << " each second; resident " << before.resident << " MB, then " << after.resident
            << " MB; in use " << before.in_use << " MB, then " << after.in_use << " MB\n";
}

// Memory of connections is free again soon after they are closed.
void expect_no_growth(Megabytes before) {
  constexpr double kNothing = 10;
  EXPECT_TRUE(soon([&] { return memory().in_use < before.in_use + kNothing; }))
      << before.in_use << " MB in use before, " << memory().in_use << " MB now";
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they keep what is freed
  EXPECT_LT(memory().resident, before.resident + 10 * kNothing);
#endif
}

// All are open before the first is read. How many answers were under way then.
void run_streams(RunningServer& server, int n, size_t& n_open) {
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < n; ++i) {
    clients.push_back(std::make_unique<Client>(server.port()));
    const Json body = {{"prompt", "A prompt that all begin with, then " + std::to_string(i)},
                       {"max_tokens", number_from("PANDO_STREAM_TOKENS", 12)},
                       {"ignore_eos", true},
                       {"seed", i},
                       {"stream", true}};
    clients.back()->begin("/v1/completions", body);
  }
  n_open = server.engine().stats().open_answers;
  for (const auto& client : clients) {
    const Answer answer = client->read();
    ASSERT_EQ(answer.status, 200) << answer.body;
    const std::vector<Json> events = answer.events();
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(events.back()["choices"][0]["finish_reason"], "length");
  }
}

TEST(Load, ManyOpenStreams) {
  const int n = number_from("PANDO_STREAMS", 200), n_rounds = number_from("PANDO_ROUNDS", 3);
  RunningServer server;
  size_t n_open = 0;
  for (int i = 0; i < 2; ++i) run_streams(server, n, n_open);
  const Megabytes before = memory();
  for (int i = 0; i < n_rounds; ++i) {
    const auto start = Clock::now();
    run_streams(server, n, n_open);
    report("streams", n, start, before);
    std::cout << "  " << n_open << " answers under way once all were open\n";
  }
  expect_no_growth(before);
}

// Asks at a random door, as a stream if it has one. A client that does not wait leaves.
void ask_any_door(Client& client, std::mt19937& random, bool waits) {
  static const std::vector<DoorRequest> doors = door_requests();
  const DoorRequest& door = doors[random() % doors.size()];
  Json body = door.body(random_ask(random));
  if (door.streamed != nullptr && door.stream_path == nullptr) body["stream"] = true;
  const char* path = door.stream_path != nullptr ? door.stream_path : door.path;
  client.send(post_text(path, body.dump()));
  if (!waits) return;
  EXPECT_EQ(client.read().status, 200) << path << ' ' << body;
}

// One client after the other: good requests, bad ones, and clients that break off.
void misbehave(uint16_t port, int n, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  const std::string good = R"({"prompt": "abc", "max_tokens": 3, "stream": )";
  for (int i = 0; i < n; ++i) {
    Client client(port);
    const std::string whole =
        post_text("/v1/completions", good + (below(2) == 0 ? "true}" : "false}"));
    switch (below(12)) {
      case 0:
        client.send(whole);
        EXPECT_EQ(client.read().status, 200);
        break;
      case 1:
        client.send(whole + whole + whole);
        for (int k = 0; k < 3; ++k) EXPECT_EQ(client.read().status, 200);
        break;
      case 2:
        client.send(whole.substr(0, below(static_cast<unsigned>(whole.size()))));
        break;  // and leaves
      case 3:
        client.send(whole);
        break;
      case 4: {
        std::string bytes(1 + below(3000), ' ');
        for (char& c : bytes) c = static_cast<char>(random());
        client.send(bytes + "\r\n\r\n");
        client.read_all();
        break;
      }
      case 5:
        client.send(post_text("/v1/completions", good));
        EXPECT_EQ(client.read().status, 400);
        break;
      case 6:
        client.send(
            "POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            "Content-Length: 999999999\r\n\r\n{");
        EXPECT_EQ(client.read().status, 413);
        break;
      case 7:
        client.send(whole);
        client.end_sending();
        client.read_all();
        break;
      case 8:
      case 9:
      case 10:
        ask_any_door(client, random, below(4) != 0);
        break;
      default:
        client.send(
            post_text("/v1/chat/completions", R"({"messages": [{"role": "user", "content": ")" +
                                                  std::string(below(400), 'q') + R"("}]})"));
        if (below(2) == 0) {
          EXPECT_EQ(client.read().status, 200);
        }
    }
  }
}

TEST(Load, RequestsOfAllKinds) {
  const int n = number_from("PANDO_SOAK", 400);
  constexpr int kClients = 4;
  RunningServer server;
  const auto run = [&](int n_all, unsigned seed) {
    std::vector<std::thread> clients;
    for (unsigned client = 0; client < kClients; ++client)
      clients.emplace_back(
          [&, client] { misbehave(server.port(), n_all / kClients, kClients * seed + client); });
    for (std::thread& client : clients) client.join();
  };
  run(n / 2, 1);
  const Megabytes before = memory();
  const auto start = Clock::now();
  run(n / 2, 2);
  report("requests", n / 2, start, before);
  expect_no_growth(before);
  const std::string metrics = Client(server.port()).get("/metrics").body;
  EXPECT_EQ(metrics.find("status=\"500\""), std::string::npos) << metrics;
  EXPECT_EQ(Client(server.port()).get("/health").status, 200);
}

}  // namespace
}  // namespace pando::testing
