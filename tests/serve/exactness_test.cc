// The same request alone, under load, after a cache hit, streamed or not: the same tokens and the
// same log-probabilities to the last digit. PANDO_SLOW_TESTS: more of it.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>

#include "serve/client.h"

namespace pando::testing {
namespace {

constexpr const char* kLists[] = {"tokens", "token_logprobs", "top_logprobs", "text_offset"};

const std::string& shared_text() {
  static const std::string text(120, 's');
  return text;
}

struct Asked {
  std::string path;
  Json body;
};

std::vector<Asked> requests() {
  const std::string &shared = shared_text(), other = shared + std::string(60, 'o');
  std::vector<Asked> asked;
  for (int i = 0; i < 12; ++i) {
    Json body = {{"seed", i},
                 {"max_tokens", 3 + i},
                 {"ignore_eos", true},
                 {"temperature", i % 3 == 0 ? 0.0 : 1.0}};
    if (i % 4 == 3) {
      body["messages"] = {{{"role", "system"}, {"content", shared}},
                          {{"role", "user"}, {"content", std::to_string(i / 8)}}};
      body["logprobs"] = true;
      body["top_logprobs"] = 3;
    } else {
      body["prompt"] = {(i % 2 == 0 ? shared : other) + std::to_string(i / 2), "Q" + shared};
      body["logprobs"] = 2;
    }
    if (i % 5 == 1) body["n"] = 3;
    if (i % 3 == 1) body["ttft_slo_ms"] = 1 + 10 * i;
    if (i % 4 == 2) body["echo"] = true;  // log-probabilities of the prompt: not streamed
    if (i % 6 == 4) {
      body["frequency_penalty"] = 0.5;
      body["stop"] = "e";
    }
    asked.push_back({i % 4 == 3 ? "/v1/chat/completions" : "/v1/completions", std::move(body)});
  }
  return asked;
}

// What an answer says, whichever way it came: [choices] {text, reason, logprobs}.
Json said_by(const Json& body) {
  Json said = Json::array();
  for (const Json& choice : body["choices"]) {
    const bool chat = choice.contains("message");
    said.push_back({{"text", chat ? choice["message"]["content"] : choice["text"]},
                    {"reason", choice["finish_reason"]},
                    {"logprobs", chat ? choice["logprobs"]["content"] : choice["logprobs"]}});
  }
  return said;
}

Json said_by(const std::vector<Json>& events) {
  Json said = Json::array();
  for (const Json& event : events) {
    for (const Json& choice : event["choices"]) {
      const bool chat = choice.contains("delta");
      while (said.size() <= choice["index"].get<size_t>()) {
        Json lists = chat ? Json::array() : Json::object();
        if (!chat)
          for (const char* name : kLists) lists[name] = Json::array();
        said.push_back({{"text", ""}, {"reason", nullptr}, {"logprobs", lists}});
      }
      Json& one = said[choice["index"].get<size_t>()];
      const std::string text =
          chat ? choice["delta"].value("content", "") : choice["text"].get<std::string>();
      one["text"] = one["text"].get<std::string>() + text;
      if (!choice["finish_reason"].is_null()) one["reason"] = choice["finish_reason"];
      if (choice["logprobs"].is_null()) continue;
      const auto append = [](Json& to, const Json& from) {
        to.insert(to.end(), from.begin(), from.end());
      };
      if (chat) {
        append(one["logprobs"], choice["logprobs"]["content"]);
      } else {
        for (const char* name : kLists) append(one["logprobs"][name], choice["logprobs"][name]);
      }
    }
  }
  return said;
}

// Fields that change no answer.
void add_whims(Asked& asked, std::mt19937& random) {
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  if (one_in(4)) asked.body["cache"] = false;
  if (one_in(3)) asked.body["sharing"] = true;
  if (one_in(4)) asked.body["ttft_slo_ms"] = 1 + random() % 1000;
  if (one_in(4)) asked.body["tpot_slo_ms"] = 1 + random() % 100;
  if (one_in(2) && asked.body.contains("messages")) asked.body["public_prefix"] = "shared";
}

Json ask(uint16_t port, Asked asked, bool stream) {
  if (stream) asked.body["stream"] = true;
  Answer answer;
  do {
    answer = Client(port).post(asked.path, asked.body);
  } while (answer.status == 429);  // some servers here have little room
  EXPECT_EQ(answer.status, 200) << answer.body;
  return stream ? said_by(answer.events()) : said_by(answer.json());
}

// Each on its own, with nothing to share.
std::vector<std::string> answers_alone() {
  RunningServer server;
  std::vector<std::string> alone;
  for (Asked& asked : requests()) {
    asked.body["cache"] = false;
    alone.push_back(ask(server.port(), asked, /*stream=*/false).dump());
  }
  return alone;
}

// Clients that leave before their answers are complete.
void leave_early(uint16_t port, const std::atomic<bool>& over) {
  std::mt19937 random(99);
  while (!over) {
    Client client(port);
    const Json body = {{"prompt", shared_text() + std::to_string(random() % 20)},
                       {"max_tokens", 200},
                       {"n", 1 + random() % 4},
                       {"ignore_eos", true},
                       {"stream", true}};
    client.begin("/v1/completions", body);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
  }
}

// Many clients ask everything in orders of their own, every other time as a stream.
void check_under_load(RunningServer& server, const std::vector<std::string>& alone, unsigned seed) {
  std::atomic<bool> over{false};
  std::thread leaver([&] { leave_early(server.port(), over); });
  std::vector<std::thread> clients;
  for (unsigned client = 0; client < 6; ++client)
    clients.emplace_back([&, client] {
      std::mt19937 random(100 * seed + client);
      const std::vector<Asked> asked = requests();
      std::vector<size_t> order(asked.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), random);
      for (const size_t i : order) {
        const bool stream = (i + client) % 2 == 0 && !asked[i].body.contains("echo");
        Asked with_whims = asked[i];
        add_whims(with_whims, random);
        EXPECT_EQ(ask(server.port(), with_whims, stream).dump(), alone[i])
            << "request " << i << (stream ? " streamed" : "") << ": " << with_whims.body;
      }
    });
  for (std::thread& client : clients) client.join();
  over = true;
  leaver.join();
}

// Of a machine that is not this one.
constexpr const char* kCosts =
    R"({"step_s":2e-4,"row_s":[2e-5,2e-5,2e-5,2e-5,2e-5],"head_s":0,"output_s":1e-5,"key_s":1e-7,"read_s":1e-7})";

std::vector<std::pair<std::string, EngineOptions>> engines() {
  std::vector<std::pair<std::string, EngineOptions>> engines(6, {"", tiny_options()});
  engines[0].first = "as it is";
  engines[1].first = "small steps";
  engines[1].second.step_rows = 7;
  engines[2].first = "three threads";
  engines[2].second.threads = 3;
  engines[3].first = "nothing shared";
  engines[3].second.sharing = "packed";
  engines[4].first = "little memory";
  engines[4].second.kv_memory /= 128;
  engines[5].first = "few at a time";
  engines[5].second.max_queue = 0.01;
  for (const char* policy : {"fcfs", "edf", "lrs", "lars"}) {
    auto& [name, options] = engines.emplace_back(policy, tiny_options());
    options.policy = policy;
    options.step_budget = 1e-3;
    options.step_costs = kCosts;
  }
  return engines;
}

TEST(Exactness, NothingChangesAnAnswer) {
  const unsigned n_rounds = std::getenv("PANDO_SLOW_TESTS") != nullptr ? 100 : 1;
  const std::vector<std::string> alone = answers_alone();
  serve::ServerOptions server_options = tiny_server_options();
  server_options.public_prefixes["shared"] = shared_text();
  for (const auto& [name, options] : engines()) {
    SCOPED_TRACE(name);
    RunningServer server(server_options, options);
    for (unsigned round = 0; round < n_rounds; ++round) check_under_load(server, alone, round);
    const std::vector<Asked> asked = requests();
    for (size_t i = 0; i < asked.size(); ++i)  // from the cache
      EXPECT_EQ(ask(server.port(), asked[i], /*stream=*/false).dump(), alone[i]) << i;
    const EngineStats stats = server.engine().stats();
    if (n_rounds > 1)
      std::cout << name << ": " << stats.requests << " answered, " << stats.preemptions
                << " preemptions, " << stats.evicted_pages << " pages evicted\n";
  }
}

}  // namespace
}  // namespace pando::testing
