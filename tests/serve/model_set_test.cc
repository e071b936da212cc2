// A server of several models.
#include "serve/models/model_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "serve/client.h"
#include "serve/log_lines.h"
#include "serve/metric_values.h"
#include "serve/running_router.h"
#include "serve/uploads.h"

namespace pando::testing {
namespace {

constexpr size_t kKv = size_t{8} << 20, kPlenty = size_t{1} << 30;

// Random models of different shapes, made once.
const std::shared_ptr<const Model>& model_of(const std::string& shape) {
  static const TemporaryFolder folder;
  static std::map<std::string, std::shared_ptr<const Model>> models;
  std::shared_ptr<const Model>& model = models[shape];
  if (model != nullptr) return model;
  RandomModelOptions options;
  options.shape = shape;
  options.out = folder.path() / shape;
  options.max_positions = kTinyContext;
  if (Status status = make_random_model(options); !status)
    throw std::runtime_error(status.error().message());
  auto loaded = Model::load(options.out);
  if (!loaded) throw std::runtime_error(loaded.error().message());
  return model = std::move(*loaded);
}

// A model that can be told to fail or to take long, and that counts its loads.
struct ScriptedModel {
  explicit ScriptedModel(std::string n, const std::string& s)
      : name(std::move(n)), model(model_of(s)) {}

  serve::ModelRecipe recipe() {
    return {.name = name,
            .kv_memory = kKv,
            .size = [this]() -> Result<size_t> { return model->info().weight_bytes; },
            .load = [this]() -> Result<serve::LoadedModel> {
              ++n_loads;
              while (is_held) std::this_thread::sleep_for(std::chrono::milliseconds(1));
              if (fails) return in_file("/secret/m.gguf", bad_file("is cut off"));
              return serve::LoadedModel{.model = model, .options = tiny_options()};
            },
            .measure = [this](const Model&, EngineOptions&, const auto&) -> Status {
              if (throws) throw std::runtime_error("no more threads");
              return {};
            }};
  }
  size_t n_bytes() const { return model->info().weight_bytes + kKv; }

  std::string name;
  std::shared_ptr<const Model> model;
  std::atomic<int> n_loads{0};
  std::atomic<bool> fails{false}, throws{false}, is_held{false};
};

class ModelSetTest : public ::testing::Test {
 protected:
  ~ModelSetTest() override {
    for (ScriptedModel* model : {&qwen_, &llama_, &phi_}) model->is_held = false;
    if (!thread_.joinable()) return;
    server_->stop();
    thread_.join();
  }

  void start(size_t memory, serve::ServerOptions options = tiny_server_options()) {
    start(memory, {&qwen_, &llama_, &phi_}, std::move(options));
  }
  void start(size_t memory, std::initializer_list<ScriptedModel*> models,
             serve::ServerOptions options = tiny_server_options()) {
    std::vector<serve::ModelRecipe> recipes;
    for (ScriptedModel* model : models) recipes.push_back(model->recipe());
    auto set = serve::ModelSet::open(options, {.memory = memory}, std::move(recipes));
    ASSERT_TRUE(set.ok());
    auto server = serve::Server::open(std::unique_ptr<serve::Door>(std::move(*set)));
    ASSERT_TRUE(server.ok());
    server_ = std::move(*server);
    thread_ = std::thread([this] { server_->run(/*stop_on_signals=*/false); });
  }

  Answer ask(const std::string& model, const std::string& prompt = "Hello", int n_tokens = 4) {
    return Client(server_->port())
        .post("/v1/completions", {{"model", model},
                                  {"prompt", prompt},
                                  {"max_tokens", n_tokens},
                                  {"temperature", 0},
                                  {"ignore_eos", true}});
  }
  std::string text_of(const std::string& model, const std::string& prompt, int n_tokens = 4) {
    const Answer answer = ask(model, prompt, n_tokens);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.json()["choices"][0]["text"];
  }
  // No request for a model is open. A client may have its answer a little before.
  bool is_each_over() {
    const std::string metrics = get("/metrics").body;
    double n_open = 0;
    for (const ScriptedModel* model : {&qwen_, &llama_, &phi_})
      n_open += metric_value(metrics, "pando_model_requests{model=\"" + model->name + "\"}");
    return n_open == 0;
  }
  Answer get(const std::string& path) { return Client(server_->port()).get(path); }
  // "loaded unloaded unloaded"
  std::string states() {
    std::string states;
    const Json models = get("/v1/models").json();
    for (const Json& model : models["data"])
      states += (states.empty() ? "" : " ") + model["status"]["value"].get<std::string>();
    return states;
  }

  ScriptedModel qwen_{"qwen", "tiny-qwen3"}, llama_{"llama", "tiny-llama"},
      phi_{"org/phi", "tiny-phi3"}, bert_{"bert", "tiny-bert"};
  std::unique_ptr<serve::Server> server_;
  std::thread thread_;
};

TEST_F(ModelSetTest, LoadsAModelThatIsAskedFor) {
  start(kPlenty);
  EXPECT_EQ(states(), "unloaded unloaded unloaded");
  EXPECT_EQ(get("/api/ps").json()["models"].size(), 0U);
  text_of("llama", "Hello");
  EXPECT_EQ(states(), "unloaded loaded unloaded");
  EXPECT_EQ(get("/api/ps").json()["models"][0]["name"], "llama");
  const Json tags = get("/api/tags").json()["models"];
  ASSERT_EQ(tags.size(), 3U);
  EXPECT_EQ(tags[1]["size"], llama_.model->info().weight_bytes);
  EXPECT_EQ(get("/v1/models/org/phi").json()["status"]["value"], "unloaded");
  text_of("org/phi:latest", "Hello");  // as Ollama's clients write it
  EXPECT_EQ(states(), "unloaded loaded loaded");
  EXPECT_EQ(llama_.n_loads, 1);
}

TEST_F(ModelSetTest, AnswersAreThoseOfServersOfOneModel) {
  start(kPlenty);
  std::vector<std::thread> threads;
  for (ScriptedModel* model : {&qwen_, &llama_, &phi_}) {
    auto engine = Engine::open(model->model, tiny_options());
    ASSERT_TRUE(engine.ok());
    auto alone = std::make_shared<RunningServer>(tiny_server_options(), std::move(*engine));
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([this, model, alone, i] {
        const std::string prompt = "Document " + std::to_string(i);
        const Answer expected = Client(alone->port())
                                    .post("/v1/completions", {{"prompt", prompt},
                                                              {"max_tokens", 30},
                                                              {"temperature", 0},
                                                              {"ignore_eos", true}});
        EXPECT_EQ(text_of(model->name, prompt, 30), expected.json()["choices"][0]["text"]);
      });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ModelSetTest, AnEmbeddingModelStandsBesideAChatModel) {
  start(kPlenty);
  const Json body = {{"model", "llama"}, {"input", "a text"}};
  const Answer vector = Client(server_->port()).post("/v1/embeddings", body);
  ASSERT_EQ(vector.status, 200) << vector.body;
  EXPECT_EQ(vector.json()["model"], "llama");
  EXPECT_EQ(vector.json()["data"][0]["embedding"].size(),
            static_cast<size_t>(llama_.model->info().d_model));
  text_of("qwen", "Hello");
  EXPECT_EQ(states(), "loaded loaded unloaded");
}

TEST_F(ModelSetTest, WhatAModelCanDoStaysKnownWhenItIsPutAway) {
  start(std::max(qwen_.n_bytes(), bert_.n_bytes()) + 1, {&qwen_, &bert_});  // room for one
  EXPECT_FALSE(get("/v1/models/bert").json().contains("capabilities"));
  const Json body = {{"model", "bert"}, {"input", "a text"}};
  ASSERT_EQ(Client(server_->port()).post("/v1/embeddings", body).status, 200);
  text_of("qwen", "Hello");
  EXPECT_EQ(states(), "loaded unloaded");
  EXPECT_EQ(get("/v1/models/bert").json()["capabilities"], Json::array({"embedding"}));
  EXPECT_EQ(get("/v1/models/qwen").json()["capabilities"], Json::array({"completion", "chat"}));
}

TEST_F(ModelSetTest, ARequestHasToNameAModel) {
  start(kPlenty);
  const Answer unnamed = Client(server_->port()).post("/v1/completions", {{"prompt", "a"}});
  EXPECT_EQ(unnamed.status, 400);
  EXPECT_EQ(unnamed.json()["error"]["message"],
            "the request names no model, expected 'qwen' or 'llama' or 'org/phi'");
  const Answer other = ask("none");
  EXPECT_EQ(other.status, 404);
  EXPECT_EQ(other.json()["error"]["code"], "model_not_found");
  EXPECT_EQ(get("/tokenizer_info").status, 400);
  EXPECT_EQ(get("/tokenizer_info?model=qwen").status, 200);
  EXPECT_EQ(states(), "loaded unloaded unloaded");
}

TEST_F(ModelSetTest, TheLeastRecentlyUsedModelGoes) {
  start(qwen_.n_bytes() + llama_.n_bytes() + phi_.n_bytes() - 1);
  const auto use = [&](const char* model, const char* prompt) {
    text_of(model, prompt);
    EXPECT_TRUE(soon([&] { return is_each_over(); })) << model;
  };
  use("qwen", "a");
  use("llama", "a");
  use("qwen", "b");
  use("org/phi", "a");
  EXPECT_EQ(states(), "loaded unloaded loaded");
  use("llama", "a");
  EXPECT_EQ(states(), "unloaded loaded loaded");
  EXPECT_EQ(llama_.n_loads, 2);
}

TEST_F(ModelSetTest, AModelWithOpenRequestsStays) {
  start(qwen_.n_bytes() + llama_.n_bytes() / 2);  // one of them
  Client client(server_->port());
  client.begin("/v1/completions", {{"model", "qwen"},
                                   {"prompt", "a"},
                                   {"max_tokens", 500},
                                   {"temperature", 0},
                                   {"ignore_eos", true}});
  // It has a model that is loaded only once its connection's thread has looked again.
  ASSERT_TRUE(soon([&] {
    return states().starts_with("loaded") &&
           metric_value(get("/metrics").body, "pando_steps_total{model=\"qwen\"}") > 0;
  }));
  text_of("llama", "a");
  const Answer first = client.read();
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.json()["usage"]["completion_tokens"], 500);
  EXPECT_EQ(states(), "unloaded loaded unloaded");
}

TEST_F(ModelSetTest, AModelThatCannotFitIsRefused) {
  start(llama_.n_bytes() / 2);
  const Answer answer = ask("llama");
  EXPECT_EQ(answer.status, 507);
  const Json error = answer.json()["error"];
  EXPECT_EQ(error["code"], "insufficient_memory");
  EXPECT_NE(error["message"].get<std::string>().find("of --memory"), std::string::npos);
  EXPECT_EQ(llama_.n_loads, 0);
}

TEST_F(ModelSetTest, RequestsForOneModelLoadItOnceAndOthersGoOn) {
  start(kPlenty);
  text_of("qwen", "a");
  llama_.is_held = true;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([this] { text_of("llama", "a"); });
  ASSERT_TRUE(soon([&] { return states() == "loaded loading unloaded"; }));
  text_of("qwen", "b");
  EXPECT_EQ(states(), "loaded loading unloaded");
  llama_.is_held = false;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(llama_.n_loads, 1);
}

TEST_F(ModelSetTest, AFailedLoadIsToldAndTriedAgain) {
  start(kPlenty);
  llama_.fails = true;
  const Answer failed = ask("llama");
  EXPECT_EQ(failed.status, 500);
  EXPECT_EQ(failed.json()["error"]["message"],
            "the model 'llama' cannot be loaded: m.gguf: is cut off");
  EXPECT_EQ(get("/v1/models/llama").json()["status"]["failed"], true);
  llama_.fails = false;
  text_of("llama", "a");
  EXPECT_EQ(llama_.n_loads, 2);
  const Json status = get("/v1/models/llama").json()["status"];
  EXPECT_EQ(status, (Json{{"value", "loaded"}}));
}

TEST_F(ModelSetTest, AMeasurementThatThrowsGivesItsTurnBack) {
  start(kPlenty);
  text_of("qwen", "a");
  llama_.throws = true;
  const Answer failed = ask("llama");
  EXPECT_EQ(failed.status, 500);
  EXPECT_NE(failed.body.find("no more threads"), std::string::npos) << failed.body;
  text_of("qwen", "b");
  llama_.throws = false;
  text_of("llama", "a");
}

TEST_F(ModelSetTest, MetricsHaveTheNameOfTheModel) {
  start(kPlenty);
  text_of("llama", "a");
  const std::string metrics = get("/metrics").body;
  for (const char* line :
       {"pando_generated_tokens_total{model=\"llama\"} 4", "pando_model_loaded{model=\"llama\"} 1",
        "pando_model_loaded{model=\"qwen\"} 0", "pando_model_loads_total{model=\"llama\"} 1"})
    EXPECT_NE(metrics.find(line), std::string::npos) << line << "\n" << metrics;
}

serve::ServerOptions options_with_state(const TemporaryFolder& folder) {
  serve::ServerOptions options = tiny_server_options();
  options.state_directory = folder.path().string();
  return options;
}

TEST_F(ModelSetTest, AStoredResponseIsContinuedByAnotherModel) {
  const TemporaryFolder folder;
  start(kPlenty, options_with_state(folder));
  Client client(server_->port());
  Json body = {{"model", "qwen"}, {"input", "Hi"}, {"max_output_tokens", 4}};
  const Answer first = client.post("/v1/responses", body);
  ASSERT_EQ(first.status, 200) << first.body;
  body["model"] = "llama";
  body["previous_response_id"] = first.json()["id"];
  const Answer second = client.post("/v1/responses", body);
  ASSERT_EQ(second.status, 200) << second.body;
  EXPECT_EQ(second.json()["model"], "llama");
  const std::string path = "/v1/responses/" + second.json()["id"].get<std::string>();
  EXPECT_EQ(client.get(path).json()["output"], second.json()["output"]);
}

TEST_F(ModelSetTest, LinesOfABatchNameTheirModels) {
  const TemporaryFolder folder;
  start(kPlenty, options_with_state(folder));
  Client client(server_->port());
  std::string lines;
  for (const char* model : {"qwen", "llama"})
    lines += Json{{"custom_id", model},
                  {"method", "POST"},
                  {"url", "/v1/completions"},
                  {"body",
                   {{"model", model},
                    {"prompt", "Hello"},
                    {"max_tokens", 4},
                    {"temperature", 0},
                    {"ignore_eos", true}}}}
                 .dump() +
             "\n";
  const Answer file = upload(client, lines);
  ASSERT_EQ(file.status, 200) << file.body;
  const Answer batch = client.post("/v1/batches", {{"input_file_id", file.json()["id"]},
                                                   {"endpoint", "/v1/completions"},
                                                   {"completion_window", "24h"}});
  ASSERT_EQ(batch.status, 200) << batch.body;
  const std::string path = "/v1/batches/" + batch.json()["id"].get<std::string>();
  ASSERT_TRUE(soon([&] { return client.get(path).json()["status"] == "completed"; }));
  const std::string results = client.get(path).json()["output_file_id"];
  const std::string text = client.get("/v1/files/" + results + "/content").body;
  std::istringstream file_of_results(text);
  int n_results = 0;
  for (std::string line; std::getline(file_of_results, line); ++n_results) {
    const Json result = Json::parse(line);
    EXPECT_EQ(result["response"]["body"]["choices"][0]["text"],
              text_of(result["custom_id"], "Hello"));
  }
  EXPECT_EQ(n_results, 2);
}

TEST_F(ModelSetTest, HasThePage) {
  serve::ServerOptions options = tiny_server_options();
  options.page = true;
  start(kPlenty, options);
  const auto answer = [&](const std::string& path, const std::string& accepted) {
    Client client(server_->port());
    client.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept: " +
                accepted + "\r\n\r\n");
    return client.read_all();
  };
  EXPECT_NE(answer("/", "text/html").find("<!doctype html>"), std::string::npos);
  EXPECT_NE(answer("/page/model.js", "*/*").find("function showModel"), std::string::npos);
  EXPECT_TRUE(answer("/page/none.js", "*/*").starts_with("HTTP/1.1 404 "));
  for (const char* accepted : {"*/*", "application/json"}) {
    const std::string overview = answer("/", accepted);
    EXPECT_NE(overview.find("org/phi"), std::string::npos) << overview;
    EXPECT_NE(overview.find("\r\nVary: Accept\r\n"), std::string::npos) << overview;
  }
}

TEST_F(ModelSetTest, HasNoPageThatIsTurnedOff) {
  start(kPlenty);
  EXPECT_EQ(get("/page/main.js").status, 404);
}

TEST_F(ModelSetTest, ARouterSaysThatItIsNoReplica) {
  start(kPlenty);
  Lines lines;
  serve::ServerOptions options = tiny_server_options();
  log_to(lines, options);
  const RunningRouter router({server_->port()}, {}, options, /*n_up=*/0);
  const std::string why =
      "POST /v1/replica has status 404, expected 200 ('a server of several models cannot be used "
      "behind a router, expected a server of one model')";
  EXPECT_TRUE(soon([&] {
    for (const std::string& line : lines.all())
      if (line.find(why) != line.npos) return true;
    return false;
  })) << (lines.all().empty() ? "" : lines.all()[0]);
}

}  // namespace
}  // namespace pando::testing
