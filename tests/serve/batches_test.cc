// /v1/batches over HTTP: lines are answered as clients would be, whatever stops the server.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "model/test_files.h"
#include "serve/client.h"
#include "serve/scripted_engine.h"
#include "serve/uploads.h"

namespace pando::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char *kFirstKey = "key-of-the-first", *kSecondKey = "key-of-the-second";
constexpr const char* kCompletions = "/v1/completions";

Json body_of(int i, int max_tokens = 6) {
  return {
      {"model", "tiny"},          {"prompt", "The same beginning, question " + std::to_string(i)},
      {"temperature", 0.7},       {"seed", i},
      {"max_tokens", max_tokens}, {"ignore_eos", true}};
}

std::string line_of(const std::string& id, const Json& body,
                    const std::string& url = kCompletions) {
  return Json({{"custom_id", id}, {"method", "POST"}, {"url", url}, {"body", body}}).dump() + "\n";
}

std::string lines_of(int n, int max_tokens = 6) {
  std::string lines;
  for (int i = 0; i < n; ++i) lines += line_of(std::to_string(i), body_of(i, max_tokens));
  return lines;
}

// An answer without what differs from one request to the next.
Json plain(Json answer) {
  for (const char* name : {"id", "created", "usage"}) answer.erase(name);
  return answer;
}

class Batches : public ::testing::Test {
 protected:
  Batches() {
    options_.state_directory = (folder_.path() / "state").string();
    options_.now = [this] {
      hold_when_due();
      return now_.load();
    };
    start();
  }
  ~Batches() override { stop(); }
  // Lines are asked one at a time, beside one client.
  void start() {
    EngineOptions options = tiny_options();
    options.max_running = 2;
    std::unique_ptr<Engine> engine = open_tiny(options);
    engine_ = engine.get();
    server_ = std::make_unique<RunningServer>(options_, std::move(engine));
  }
  void stop() {
    if (server_) server_->stop();
    engine_ = nullptr;
    go_on();
    server_.reset();
  }
  void restart() {
    stop();
    start();
  }

  // The engine begins nothing more once so many results are in the log of a batch. The clock is
  // read before each line is asked.
  void hold_at(size_t n_results) { held_at_ = n_results; }
  void hold_when_due() {
    if (held_at_ == kNever || n_logged() < held_at_) return;
    const std::lock_guard lock(hold_mutex_);
    if (hold_ == nullptr && engine_ != nullptr) hold_ = engine_.load()->hold();
  }
  void go_on() {
    held_at_ = kNever;
    const std::lock_guard lock(hold_mutex_);
    hold_.reset();
  }

  Answer ask(const std::string& method, const std::string& path, const std::string& body = "") {
    return Client(server_->port()).ask(method, path, body, key_);
  }
  Json get(const std::string& path) {
    const Answer answer = ask("GET", path);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.json();
  }
  std::string content(const Json& file) {
    return ask("GET", "/v1/files/" + file.get<std::string>() + "/content").body;
  }
  std::string upload_input(const std::string& lines) {
    Client client(server_->port());
    return upload(client, lines, {}, key_).json()["id"];
  }
  Answer create(const std::string& file, const std::string& endpoint = kCompletions,
                const Json& besides = Json::object()) {
    Json body = {{"input_file_id", file}, {"endpoint", endpoint}, {"completion_window", "24h"}};
    body.update(besides);
    return ask("POST", "/v1/batches", body.dump());
  }
  std::string run(const std::string& lines, const std::string& endpoint = kCompletions) {
    const Answer answer = create(upload_input(lines), endpoint);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.json()["id"];
  }
  Json batch(const std::string& id) { return get("/v1/batches/" + id); }
  Json wait_for(const std::string& id, const std::string& status) {
    Json found;
    EXPECT_TRUE(soon([&] { return (found = batch(id))["status"] == status; })) << found.dump(1);
    return found;
  }
  // Lines of an output by custom_id, each of which is there once.
  std::map<std::string, Json> results(const Json& file) {
    std::map<std::string, Json> found;
    if (file.is_null()) return found;
    std::istringstream lines(content(file));
    for (std::string line; std::getline(lines, line);) {
      const Json result = Json::parse(line);
      EXPECT_TRUE(found.emplace(result["custom_id"], result).second) << line;
    }
    return found;
  }

  std::string log_of(const std::string& id) const {
    return options_.state_directory + "/batches/" + id + ".log";
  }
  static size_t n_lines(const fs::path& path) {
    std::ifstream file(path);
    return static_cast<size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
  }
  size_t n_over(const std::string& id) const { return n_lines(log_of(id)); }  // results
  size_t n_logged() const {  // results of the batch with the most
    size_t n_most = 0;
    std::error_code none;
    for (const auto& log : fs::directory_iterator(options_.state_directory + "/batches", none))
      n_most = std::max(n_most, n_lines(log.path()));
    return n_most;
  }
  static constexpr int kLong = 120;  // lines
  // The next line waits.
  std::string run_until_some_are_over() {
    hold_at(4);
    const std::string id = run(lines_of(kLong, 20));
    EXPECT_TRUE(soon([&] { return n_over(id) == 4; }));
    return id;
  }
  // Some lines were answered, and the others have this error.
  void expect_part(const Json& done, const std::string& code) {
    const auto answers = results(done["output_file_id"]), errors = results(done["error_file_id"]);
    EXPECT_EQ(answers.size(), 4u);
    EXPECT_EQ(answers.size() + errors.size(), size_t{kLong});
    for (const auto& [id, line] : errors) EXPECT_EQ(line["error"]["code"], code) << id;
    EXPECT_EQ(done["request_counts"],
              Json({{"total", kLong}, {"completed", answers.size()}, {"failed", 0}}));
  }

  const TemporaryFolder folder_;
  serve::ServerOptions options_ = tiny_server_options();
  std::atomic<int64_t> now_{1'800'000'000};
  std::string key_;  // of whoever asks
  static constexpr size_t kNever = SIZE_MAX;
  std::atomic<size_t> held_at_{kNever};
  std::mutex hold_mutex_;
  Engine::Hold hold_;  // of the server's engine
  std::atomic<Engine*> engine_{nullptr};
  std::unique_ptr<RunningServer> server_;
};

TEST_F(Batches, AnswersAreThoseOfClients) {
  const std::string file = upload_input(lines_of(40) + line_of("bad", {{"prompt", 7}}));
  const Answer created =
      create(file, kCompletions,
             {{"metadata", {{"run", "7"}}},
              {"output_expires_after", {{"anchor", "created_at"}, {"seconds", 86400}}}});
  ASSERT_EQ(created.status, 200) << created.body;
  const std::string id = created.json()["id"];
  EXPECT_TRUE(id.starts_with("batch_")) << id;
  EXPECT_EQ(created.json()["status"], "validating");
  EXPECT_EQ(created.json()["metadata"], Json({{"run", "7"}}));
  EXPECT_EQ(created.json()["expires_at"], now_.load() + 86400);
  const Json done = wait_for(id, "completed");
  EXPECT_EQ(done["request_counts"], Json({{"total", 41}, {"completed", 40}, {"failed", 1}}));
  for (const char* name : {"in_progress_at", "finalizing_at", "completed_at"})
    EXPECT_EQ(done[name], now_.load()) << name;
  const auto answers = results(done["output_file_id"]);
  ASSERT_EQ(answers.size(), 40u);
  for (int i = 0; i < 40; ++i) {
    const Json& line = answers.at(std::to_string(i));
    EXPECT_EQ(line["error"], nullptr);
    EXPECT_EQ(line["response"]["status_code"], 200);
    const Json live = Json::parse(ask("POST", kCompletions, body_of(i).dump()).body);
    EXPECT_EQ(plain(line["response"]["body"]), plain(live));
  }
  const auto errors = results(done["error_file_id"]);
  ASSERT_EQ(errors.size(), 1u);
  const Json& response = errors.at("bad")["response"];
  EXPECT_EQ(response["status_code"], 400);
  EXPECT_EQ(response["body"]["error"]["param"], "prompt");
  const Json output = get("/v1/files/" + done["output_file_id"].get<std::string>());
  EXPECT_EQ(output["purpose"], "batch_output");
  EXPECT_EQ(output["expires_at"], now_.load() + 86400);
}

TEST_F(Batches, TakeEveryEndpoint) {
  const Json messages = Json::array({{{"role", "user"}, {"content", "Hello"}}});
  const std::pair<const char*, Json> cases[] = {
      {"/v1/chat/completions", {{"messages", messages}, {"max_tokens", 4}}},
      {"/v1/completions", {{"prompt", "Hello"}, {"max_tokens", 4}}},
      {"/v1/responses", {{"input", "Hello"}, {"max_output_tokens", 16}}},
      {"/v1/embeddings", {{"input", {"one", "two"}}}},
      {"/v1/rerank", {{"query", "q"}, {"documents", {"one", "two"}}}},
  };
  for (const auto& [endpoint, body] : cases) {
    const Answer live = ask("POST", endpoint, body.dump());
    const std::string id = run(line_of("a", body, endpoint), endpoint);
    const Json done = wait_for(id, "completed");
    const auto found = results(done[live.status == 200 ? "output_file_id" : "error_file_id"]);
    ASSERT_EQ(found.size(), 1u) << endpoint;
    EXPECT_EQ(found.at("a")["response"]["status_code"], live.status) << endpoint;
  }
}

TEST_F(Batches, StoredResponsesAreFound) {
  stop();
  server_ = std::make_unique<RunningServer>(options_, open_scripted("Hello there"));
  const std::string path = "/v1/responses";
  const Json body = {{"input", "Hello"}, {"max_output_tokens", 16}, {"temperature", 0}};
  const Json done = wait_for(run(line_of("a", body, path), path), "completed");
  const Json response = results(done["output_file_id"]).at("a")["response"]["body"];
  EXPECT_EQ(response["output"][0]["content"][0]["text"], "Hello there");
  EXPECT_EQ(get("/v1/responses/" + response["id"].get<std::string>()), response);
}

TEST_F(Batches, WrongBatchesAreRefused) {
  const std::string file = upload_input(lines_of(1));
  const auto param = [&](const Json& besides) {
    const Answer answer = create(file, kCompletions, besides);
    EXPECT_EQ(answer.status, 400) << answer.body;
    return answer.json()["error"]["param"];
  };
  EXPECT_EQ(param({{"endpoint", "/v1/score"}}), "endpoint");
  EXPECT_EQ(param({{"completion_window", "1h"}}), "completion_window");
  EXPECT_EQ(param({{"metadata", {{"a", 1}}}}), "metadata");
  EXPECT_EQ(param({{"output_expires_after", {{"anchor", "created_at"}, {"seconds", 1}}}}),
            "output_expires_after.seconds");
  EXPECT_EQ(param({{"color", "red"}}), "color");
  const Answer missing = create("file-x");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.json()["error"]["param"], "input_file_id");
  const Json done = wait_for(run(lines_of(1)), "completed");
  EXPECT_EQ(create(done["output_file_id"]).json()["error"]["param"], "input_file_id");
}

TEST_F(Batches, WrongLinesFailTheBatch) {
  const Json failed = wait_for(run(lines_of(2) + lines_of(1)), "failed");
  const Json error = {{"code", "duplicate_custom_id"},
                      {"message", "'custom_id' is \"0\" as in an earlier line, expected another"},
                      {"line", 3},
                      {"param", "custom_id"}};
  EXPECT_EQ(failed["errors"], Json({{"object", "list"}, {"data", Json::array({error})}}));
  EXPECT_EQ(failed["failed_at"], now_.load());
  EXPECT_EQ(failed["output_file_id"], nullptr);
}

TEST_F(Batches, AreListedInPages) {
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(run(lines_of(1)));
  const Json newest = get("/v1/batches?limit=2");
  EXPECT_EQ(newest["data"].size(), 2u);
  EXPECT_EQ(newest["first_id"], ids[2]);
  EXPECT_EQ(newest["has_more"], true);
  const Json rest = get("/v1/batches?limit=2&after=" + ids[1]);
  EXPECT_EQ(rest["data"].size(), 1u);
  EXPECT_EQ(rest["data"][0]["id"], ids[0]);
  EXPECT_EQ(rest["has_more"], false);
}

TEST_F(Batches, CancelledOnesGiveWhatThereIs) {
  const std::string id = run_until_some_are_over();
  EXPECT_EQ(ask("POST", "/v1/batches/" + id + "/cancel").status, 200);
  const Json done = wait_for(id, "cancelled");
  EXPECT_EQ(done["cancelled_at"], now_.load());
  expect_part(done, "batch_cancelled");
  EXPECT_EQ(ask("POST", "/v1/batches/" + id + "/cancel").status, 400) << "it is over";
}

TEST_F(Batches, ExpiredOnesGiveWhatThereIs) {
  const std::string id = run_until_some_are_over();
  now_ += 86400;
  const Json done = wait_for(id, "expired");
  EXPECT_EQ(done["expired_at"], now_.load());
  expect_part(done, "batch_expired");
}

TEST_F(Batches, OutliveTheServer) {
  const std::string id = run_until_some_are_over();
  for (const size_t n_next : {8, 16, 32, 64}) {
    stop();
    hold_at(n_next);
    start();
    EXPECT_TRUE(soon([&] { return n_over(id) == n_next; }));
  }
  restart();
  const Json done = wait_for(id, "completed");
  const auto answers = results(done["output_file_id"]);
  ASSERT_EQ(answers.size(), size_t{kLong});
  for (const int i : {0, 17, kLong - 1}) {
    const Json live = Json::parse(ask("POST", kCompletions, body_of(i, 20).dump()).body);
    EXPECT_EQ(plain(answers.at(std::to_string(i))["response"]["body"]), plain(live));
  }
}

TEST_F(Batches, ATornLogLosesOnlyItsLastLine) {
  const std::string id = run_until_some_are_over();
  stop();
  fs::resize_file(log_of(id), fs::file_size(log_of(id)) - 3);
  start();
  const Json done = wait_for(id, "completed");
  EXPECT_EQ(results(done["output_file_id"]).size(), size_t{kLong});
  EXPECT_EQ(done["request_counts"], Json({{"total", kLong}, {"completed", kLong}, {"failed", 0}}));
}

TEST_F(Batches, BelongToTheirKey) {
  stop();
  options_.api_keys = {kFirstKey, kSecondKey};
  start();
  key_ = kFirstKey;
  const std::string file = upload_input(lines_of(2)), id = create(file).json()["id"];
  const Json done = wait_for(id, "completed");
  key_ = kSecondKey;
  EXPECT_EQ(create(file).status, 404);
  EXPECT_EQ(ask("GET", "/v1/batches/" + id).status, 404);
  EXPECT_EQ(ask("POST", "/v1/batches/" + id + "/cancel").status, 404);
  EXPECT_EQ(get("/v1/batches")["data"].size(), 0u);
  const std::string output = done["output_file_id"];
  for (const char* end : {"", "/content"})
    EXPECT_EQ(ask("GET", "/v1/files/" + output + end).status, 404);
  EXPECT_EQ(ask("DELETE", "/v1/files/" + output).status, 404);
  stop();  // in another order
  std::ranges::reverse(options_.api_keys);
  start();
  EXPECT_EQ(ask("GET", "/v1/batches/" + id).status, 404);
  key_ = kFirstKey;
  EXPECT_EQ(results(batch(id)["output_file_id"]).size(), 2u);
}

TEST_F(Batches, KeepTheirInputUntilTheyAreOver) {
  const std::string id = run_until_some_are_over();
  const std::string file = batch(id)["input_file_id"];
  EXPECT_EQ(ask("DELETE", "/v1/files/" + file).status, 400);
  ask("POST", "/v1/batches/" + id + "/cancel");
  wait_for(id, "cancelled");
  EXPECT_EQ(ask("DELETE", "/v1/files/" + file).status, 200);
}

TEST_F(Batches, WaitForAFullDisk) {
  constexpr size_t kRoom = size_t{1} << 20;  // less than the answers take
  Json body = body_of(0, 2);
  body.update({{"prompt", std::string(200, 'x')}, {"echo", true}, {"logprobs", 5}});
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += line_of(std::to_string(i), body);
  const std::string file = upload_input(lines);
  const auto signal = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{kRoom, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  const std::string id = create(file).json()["id"];
  const bool is_full =
      soon([&] { return fs::exists(log_of(id)) && fs::file_size(log_of(id)) > kRoom * 9 / 10; });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // several attempts
  const Json stuck = batch(id);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, signal);
  ASSERT_TRUE(is_full);
  EXPECT_EQ(stuck["status"], "in_progress");
  const Json done = wait_for(id, "completed");
  EXPECT_EQ(results(done["output_file_id"]).size(), 100u);
  EXPECT_GT(content(done["output_file_id"]).size(), kRoom);
}

TEST_F(Batches, GiveWayToClients) {
  constexpr int kFarLonger = 4000;  // lines of 500 tokens
  const std::string id = run(lines_of(kFarLonger, 500));
  EXPECT_TRUE(soon([&] { return n_over(id) >= 4; }));
  EXPECT_EQ(ask("POST", kCompletions, body_of(999).dump()).status, 200);
  EXPECT_EQ(batch(id)["status"], "in_progress") << "a client does not wait for all of it";
}

}  // namespace
}  // namespace pando::testing
