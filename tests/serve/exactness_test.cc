// The same request alone, under load, after a cache hit, streamed or not: the same tokens and the
// same log-probabilities to the last digit.
#include <algorithm>
#include <random>
#include <thread>

#include "serve/client.h"

namespace pando::testing {
namespace {

constexpr const char* kLists[] = {"tokens", "token_logprobs", "top_logprobs", "text_offset"};

struct Asked {
  std::string path;
  Json body;
};

std::vector<Asked> requests() {
  const std::string shared(120, 's'), other = shared + std::string(60, 'o');
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

Json ask(uint16_t port, Asked asked, bool stream) {
  if (stream) asked.body["stream"] = true;
  const Answer answer = Client(port).post(asked.path, asked.body);
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

// Many clients ask everything in orders of their own, every other time as a stream.
void check_under_load(RunningServer& server, const std::vector<std::string>& alone) {
  std::vector<std::thread> clients;
  for (unsigned client = 0; client < 6; ++client)
    clients.emplace_back([&, client] {
      const std::vector<Asked> asked = requests();
      std::vector<size_t> order(asked.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), std::mt19937(client));
      for (const size_t i : order) {
        const bool stream = (i + client) % 2 == 0 && !asked[i].body.contains("echo");
        EXPECT_EQ(ask(server.port(), asked[i], stream).dump(), alone[i])
            << "request " << i << (stream ? " streamed" : "");
      }
    });
  for (std::thread& client : clients) client.join();
}

// Of a machine that is not this one.
constexpr const char* kCosts =
    R"({"step_s":2e-4,"row_s":[2e-5,2e-5,2e-5,2e-5,2e-5],"head_s":0,"output_s":1e-5,"key_s":1e-7,"read_s":1e-7})";

std::vector<std::pair<std::string, EngineOptions>> engines() {
  std::vector<std::pair<std::string, EngineOptions>> engines(5, {"", tiny_options()});
  engines[0].first = "as it is";
  engines[1].first = "small steps";
  engines[1].second.step_rows = 7;
  engines[2].first = "three threads";
  engines[2].second.threads = 3;
  engines[3].first = "nothing shared";
  engines[3].second.sharing = "packed";
  engines[4].first = "little memory";
  engines[4].second.kv_memory /= 8;
  for (const char* policy : {"fcfs", "edf", "lrs", "lars"}) {
    auto& [name, options] = engines.emplace_back(policy, tiny_options());
    options.policy = policy;
    options.step_budget = 1e-3;
    options.step_costs = kCosts;
  }
  return engines;
}

TEST(Exactness, NothingChangesAnAnswer) {
  const std::vector<std::string> alone = answers_alone();
  for (const auto& [name, options] : engines()) {
    SCOPED_TRACE(name);
    RunningServer server(tiny_server_options(), options);
    check_under_load(server, alone);
    const std::vector<Asked> asked = requests();
    for (size_t i = 0; i < asked.size(); ++i)  // from the cache
      EXPECT_EQ(ask(server.port(), asked[i], /*stream=*/false).dump(), alone[i]) << i;
  }
}

}  // namespace
}  // namespace pando::testing
