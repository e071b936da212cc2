// One request alone, under load, after a cache hit, streamed or not, to every endpoint that asks
// the model, gives the same texts, and the same numbers to the last digit. PANDO_SLOW_TESTS: more
// of it.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>

#include "serve/client.h"
#include "serve/said.h"

namespace pando::testing {
namespace {

const std::string kShared(120, 's'), kOther = kShared + std::string(60, 'o');

struct Asked {
  std::string path;
  Json body;

  bool may_stream() const {
    const bool generates = path == "/v1/answers" || path.ends_with("completions");
    return generates && !body.contains("echo");  // log-probabilities of the prompt
  }
};

void add_completions(std::vector<Asked>& asked) {
  for (int i = 0; i < 12; ++i) {
    Json body = {{"seed", i},
                 {"max_tokens", 3 + i},
                 {"ignore_eos", true},
                 {"temperature", i % 3 == 0 ? 0.0 : 1.0}};
    if (i % 4 == 3) {
      body["messages"] = {{{"role", "system"}, {"content", kShared}},
                          {{"role", "user"}, {"content", std::to_string(i / 8)}}};
      body["logprobs"] = true;
      body["top_logprobs"] = 3;
    } else {
      body["prompt"] = {(i % 2 == 0 ? kShared : kOther) + std::to_string(i / 2), "Q" + kShared};
      body["logprobs"] = 2;
    }
    if (i % 5 == 1) body["n"] = 3;
    if (i % 3 == 1) body["ttft_slo_ms"] = 1 + 10 * i;
    if (i % 4 == 2) body["echo"] = true;
    if (i % 6 == 4) {
      body["frequency_penalty"] = 0.5;
      body["stop"] = "e";
    }
    asked.push_back({i % 4 == 3 ? "/v1/chat/completions" : "/v1/completions", std::move(body)});
  }
}

// All answers of a document: drawn, as conversations, and chosen from given texts.
void add_answers(std::vector<Asked>& asked) {
  const Json document = {{"context", kShared}, {"questions", {"Who?", kShared}}};
  for (const Json& more :
       {Json{{"temperature", 1},
             {"seed", 7},
             {"n", 2},
             {"max_tokens", 5},
             {"top_logprobs", 2},
             {"logprobs", true},
             {"prompt_logprobs", true}},
        Json{{"chat", true}, {"instruction", kShared}, {"max_tokens", 4}, {"ignore_eos", true}},
        Json{{"choices", {"yes", "no"}}, {"logprobs", true}}}) {
    Json body = document;
    body.update(more);
    asked.push_back({"/v1/answers", std::move(body)});
  }
}

void add_numbers(std::vector<Asked>& asked) {
  asked.push_back({"/v1/embeddings", {{"input", {kOther, kShared, "E"}}}});
  asked.push_back({"/v1/embeddings", {{"input", kOther + "E"}, {"dimensions", 5}}});
  asked.push_back({"/v1/rerank", {{"query", "q"}, {"documents", {"one", kShared}}}});
  asked.push_back({"/v1/score", {{"text_1", kShared}, {"text_2", {"one", "two"}}}});
  asked.push_back({"/v1/score", {{"prompt", kShared}, {"continuations", {kOther, " a dog"}}}});
}

std::vector<Asked> requests() {
  std::vector<Asked> asked;
  add_completions(asked);
  add_answers(asked);
  add_numbers(asked);
  return asked;
}

// Fields that change no answer.
void add_whims(Asked& asked, std::mt19937& random) {
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  if (one_in(4)) asked.body["cache"] = false;
  if (one_in(3)) asked.body["sharing"] = true;
  if (one_in(4)) asked.body["ttft_slo_ms"] = 1 + random() % 1000;
  if (one_in(4)) asked.body["tpot_slo_ms"] = 1 + random() % 100;
  if (one_in(2) && (asked.body.contains("messages") || asked.body.contains("context")))
    asked.body["public_prefix"] = "shared";
  if (one_in(2) && asked.body.contains("input")) asked.body["encoding_format"] = "base64";
}

Json ask(uint16_t port, Asked asked, bool stream) {
  if (stream) asked.body["stream"] = true;
  Answer answer;
  do {
    answer = Client(port).post(asked.path, asked.body);
  } while (answer.status == 429);  // some servers here have little room
  EXPECT_EQ(answer.status, 200) << answer.body;
  Json said = stream ? said_by(answer.events()) : said_by(answer.json());
  EXPECT_FALSE(said.empty()) << answer.body;
  return said;
}

// Each on its own, with nothing to share.
std::vector<std::string> answers_alone() {
  EngineOptions options = tiny_options();
  options.sharing = "packed";
  RunningServer server(tiny_server_options(), options);
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
    const Json body = {{"prompt", kShared + std::to_string(random() % 20)},
                       {"max_tokens", 200},
                       {"n", 1 + random() % 4},
                       {"ignore_eos", true},
                       {"stream", true}};
    client.begin("/v1/completions", body);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
  }
}

// Many clients ask most of it, each in an order of its own, every other time as a stream.
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
      order.resize(12);
      for (const size_t i : order) {
        const bool stream = (i + client) % 2 == 0 && asked[i].may_stream();
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

// These are costs of a machine that is not this one.
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
  server_options.public_prefixes["shared"] = kShared;
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
