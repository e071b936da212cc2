// Random requests over every door: alone, in company, from the cache and streamed, an answer has
// the same texts, token ids, log-probabilities and vectors. PANDO_SLOW_TESTS: 200 of them.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "engine/fim_model.h"
#include "serve/door_requests.h"

namespace pando::testing {
namespace {

struct OneRequest {
  const DoorRequest* door;
  Json body;
};

// The parts of a stream in any form: lines that have JSON.
std::vector<Json> parts_in(const std::string& stream) {
  std::vector<Json> parts;
  std::istringstream lines(stream);
  for (std::string line; std::getline(lines, line);)
    if (const size_t begin = line.find('{'); begin != line.npos)
      parts.push_back(Json::parse(line.substr(begin)));
  return parts;
}

std::string said_at_door(uint16_t port, const OneRequest& request, bool stream) {
  const DoorRequest& door = *request.door;
  Json body = request.body;
  const char* path = stream && door.stream_path != nullptr ? door.stream_path : door.path;
  if (stream && door.stream_path == nullptr) body["stream"] = true;
  const Answer answer = Client(port).post(path, body);
  EXPECT_EQ(answer.status, 200) << path << ' ' << body << answer.body;
  if (answer.status != 200) return {};
  return stream ? door.streamed(parts_in(answer.body)).dump() : door.whole(answer.json()).dump();
}

// Several clients ask all of them, each the next one that nobody asked yet.
void ask_at_once(uint16_t port, const std::vector<OneRequest>& requests,
                 const std::vector<std::string>& alone, bool stream) {
  constexpr int kClients = 8;
  std::atomic<size_t> next{0};
  std::vector<std::thread> clients;
  for (int client = 0; client < kClients; ++client)
    clients.emplace_back([&] {
      for (size_t i = next++; i < requests.size(); i = next++) {
        if (stream && requests[i].door->streamed == nullptr) continue;
        EXPECT_EQ(said_at_door(port, requests[i], stream), alone[i])
            << requests[i].door->path << ' ' << requests[i].body;
      }
    });
  for (std::thread& client : clients) client.join();
}

std::unique_ptr<Engine> open_with(const std::shared_ptr<const Model>& model,
                                  const std::string& sharing) {
  EngineOptions options = tiny_options();
  if (!sharing.empty()) options.sharing = sharing;
  return Engine::open(model, options).value();
}

void check_doors(const std::vector<DoorRequest>& doors, size_t n_requests,
                 const std::shared_ptr<const Model>& model) {
  std::mt19937 random(1234);
  std::vector<OneRequest> requests;
  for (size_t i = 0; i < n_requests; ++i) {
    const DoorRequest& door = doors[i % doors.size()];
    requests.push_back({&door, door.body(random_ask(random))});
  }
  std::shuffle(requests.begin(), requests.end(), random);
  std::vector<std::string> alone;
  {
    RunningServer server(tiny_server_options(), open_with(model, "packed"));
    for (const OneRequest& request : requests)
      alone.push_back(said_at_door(server.port(), request, /*stream=*/false));
  }
  RunningServer server(tiny_server_options(), open_with(model, ""));
  ask_at_once(server.port(), requests, alone, /*stream=*/false);
  for (size_t i = 0; i < requests.size(); ++i)  // from the cache
    EXPECT_EQ(said_at_door(server.port(), requests[i], /*stream=*/false), alone[i])
        << requests[i].door->path << ' ' << requests[i].body;
  EXPECT_GT(server.engine().stats().arrived_shared, 0u);
  ask_at_once(server.port(), requests, alone, /*stream=*/true);
}

size_t requests_over(const std::vector<DoorRequest>& doors) {
  return std::getenv("PANDO_SLOW_TESTS") != nullptr ? 200 : 2 * doors.size();
}

TEST(AllDoors, NothingChangesAnAnswer) {
  const std::vector<DoorRequest> doors = door_requests();
  check_doors(doors, requests_over(doors), tiny_model());
}

TEST(AllDoors, NothingChangesATextInAGap) {
  const std::vector<DoorRequest> doors = gap_requests();
  check_doors(doors, requests_over(doors), fim_model());
}

}  // namespace
}  // namespace pando::testing
