// Batches without an engine: input, results, restarts and failures of the disk.
#include "serve/batch_work.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/test_files.h"
#include "serve/result_log.h"

namespace pando::serve {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string asked_line(const std::string& id) {
  return R"({"custom_id": ")" + id +
         R"(", "method": "POST", "url": "/v1/completions", "body": {"prompt": ")" + id + "\"}}\n";
}

// While it lives, no file of the process can grow beyond this size.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(uint64_t n_bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{n_bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*signal_)(int);
  rlimit before_{};
};

class BatchWorkTest : public ::testing::Test {
 protected:
  void open_store() {
    store_.reset();
    auto opened = FileStore::open({.directory = directory().string(),
                                   .owners = {"", "one", "two"},
                                   .now = [this] { return now_; }});
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    store_ = std::move(*opened);
  }
  void SetUp() override { open_store(); }

  fs::path directory() const { return folder_.path() / "state"; }
  FileDatabase& database() { return store_->database(); }

  // A batch over an input file of the key 1.
  std::string add_batch(const std::string& input) {
    const std::string number = std::to_string(++n_batches_), file = "file-in" + number;
    std::ofstream(store_->path_of(file), std::ios::binary) << input;
    EXPECT_TRUE(database()
                    .add_file(1,
                              {.id = file,
                               .filename = "in.jsonl",
                               .purpose = "batch",
                               .n_bytes = input.size(),
                               .created = now_},
                              {})
                    .ok());
    const Json object = {
        {"id", "batch_" + number},  {"input_file_id", file}, {"endpoint", "/v1/completions"},
        {"status", "validating"},   {"created_at", now_},    {"expires_at", now_ + 100},
        {"in_progress_at", nullptr}};
    EXPECT_TRUE(database().add_batch(1, object, {}).ok());
    return object["id"];
  }
  std::unique_ptr<BatchWork> work_of(const std::string& id) {
    return std::make_unique<BatchWork>(
        *store_, database().find_batch(1, id).value(),
        BatchWork::Options{.max_line_bytes = 1000, .not_served = [](const std::string& model) {
                             return model == "tiny" ? "" : "not " + model;
                           }});
  }
  static void begin(BatchWork& work) {
    for (int i = 0; i < 10 && !work.has_begun() && !work.is_over(); ++i)
      ASSERT_TRUE(work.advance().ok());
  }
  // Answers the next line with its prompt. Lines of status 400 fail.
  static bool answer_next(BatchWork& work, int status = 200) {
    const std::optional<size_t> index = work.next();
    if (!index) return false;
    const BatchLine line = work.line(*index).value();
    EXPECT_TRUE(work.answered(*index, line.custom_id, status, line.body).ok());
    return true;
  }
  static void finish(BatchWork& work) {
    while (answer_next(work)) {
    }
    for (int i = 0; i < 10 && !work.is_over(); ++i) ASSERT_TRUE(work.advance().ok());
    EXPECT_TRUE(work.is_over());
  }
  Json object(const std::string& id) { return database().find_batch(1, id).value().object; }
  // custom_ids of the lines of an output, in their order.
  std::vector<std::string> ids_in(const std::string& id, const char* output) {
    const Json file = object(id)[output];
    std::vector<std::string> ids;
    if (file.is_null()) return ids;
    EXPECT_EQ(database().find_file(1, file, now_).value().n_bytes,
              fs::file_size(store_->path_of(file.get<std::string>())));
    std::ifstream lines(store_->path_of(file.get<std::string>()));
    for (std::string line; std::getline(lines, line);)
      ids.push_back(Json::parse(line)["custom_id"]);
    return ids;
  }
  using Ids = std::vector<std::string>;

  const TemporaryFolder folder_;
  int64_t now_ = 1000;
  int n_batches_ = 0;
  std::unique_ptr<FileStore> store_;
};

TEST_F(BatchWorkTest, ResultsAreInTheOrderOfTheInput) {
  const std::string id = add_batch(asked_line("a") + "\n" + asked_line("b") + asked_line("c"));
  const auto work = work_of(id);
  begin(*work);
  EXPECT_EQ(object(id)["status"], "in_progress");
  EXPECT_EQ(object(id)["request_counts"]["total"], 3);
  const size_t first = work->next().value(), second = work->next().value();
  EXPECT_TRUE(work->answered(second, "b", 400, R"({"error": 1})").ok());
  EXPECT_TRUE(answer_next(*work));
  EXPECT_FALSE(work->next().has_value()) << "all are open or over";
  EXPECT_TRUE(work->answered(first, "a", 200, R"({"text": "x"})").ok());
  finish(*work);
  EXPECT_EQ(object(id)["status"], "completed");
  EXPECT_EQ(object(id)["request_counts"], Json({{"total", 3}, {"completed", 2}, {"failed", 1}}));
  EXPECT_EQ(ids_in(id, "output_file_id"), (Ids{"a", "c"}));
  EXPECT_EQ(ids_in(id, "error_file_id"), (Ids{"b"}));
  EXPECT_FALSE(fs::exists(store_->log_of(id)));
  std::ifstream output(store_->path_of(object(id)["output_file_id"].get<std::string>()));
  std::string line;
  std::getline(output, line);
  const std::string line_id = work->id_of(0);
  EXPECT_EQ(Json::parse(line),
            Json({{"id", "batch_req_" + line_id},
                  {"custom_id", "a"},
                  {"response",
                   {{"status_code", 200}, {"request_id", line_id}, {"body", {{"text", "x"}}}}},
                  {"error", nullptr}}));
}

TEST_F(BatchWorkTest, WrongLinesFailTheBatch) {
  struct Case {
    std::string input, code, param;
    Json line;
  };
  const auto with = [](const char* from, const char* to) {
    std::string line = asked_line("b");
    return asked_line("a") + line.replace(line.find(from), std::string(from).size(), to);
  };
  const Case cases[] = {
      {"", "empty_file", "", nullptr},
      {" \n\n", "empty_file", "", nullptr},
      {asked_line("a") + "{\n", "invalid_json_line", "", 2},
      {"[]", "invalid_json_line", "", 1},
      {asked_line("a") + asked_line("a"), "duplicate_custom_id", "custom_id", 2},
      {with("custom_id", "custom"), "missing_required_parameter", "custom_id", 2},
      {with("POST", "GET"), "invalid_method", "method", 2},
      {with("/v1/completions", "/v1/embeddings"), "invalid_url", "url", 2},
      {with("\"body\": {", "\"body\": [], \"x\": {"), "invalid_body", "body", 2},
      {with("\"prompt\"", "\"model\": \"huge\", \"prompt\""), "model_not_found", "body.model", 2},
      {with("\"prompt\"", "\"stream\": true, \"prompt\""), "invalid_body", "body.stream", 2},
      {asked_line(std::string(2000, 'a')), "line_too_long", "", 1},
  };
  for (const Case& one : cases) {
    const std::string id = add_batch(one.input);
    const auto work = work_of(id);
    begin(*work);
    EXPECT_EQ(object(id)["status"], "failed") << one.code;
    const Json error = object(id)["errors"]["data"][0];
    EXPECT_EQ(error["code"], one.code);
    EXPECT_EQ(error["line"], one.line) << one.code;
    EXPECT_EQ(error["param"], one.param.empty() ? Json(nullptr) : Json(one.param)) << one.code;
    if (one.code == "model_not_found") {
      EXPECT_EQ(error["message"], "not huge");
    }
  }
}

// Whatever is left of the log, each line is there once.
TEST_F(BatchWorkTest, GoesOnBehindAnyTornLog) {
  std::string input;
  for (const char* id : {"a", "b", "c", "d"}) input += asked_line(id);
  const std::string id = add_batch(input);
  auto work = work_of(id);
  begin(*work);
  for (const int status : {200, 400, 200}) EXPECT_TRUE(answer_next(*work, status));
  const std::string log = content_of(store_->log_of(id));
  const std::string first = work->id_of(0);
  for (size_t n_kept = 0; n_kept <= log.size(); n_kept += 23) {
    work.reset();
    open_store();
    std::ofstream(store_->log_of(id), std::ios::binary)
        << log.substr(0, n_kept) << (n_kept % 2 == 0 ? "" : std::string(40, '\0') + "\n");
    work = work_of(id);
    EXPECT_TRUE(work->is_resumed());
    begin(*work);
    EXPECT_EQ(work->id_of(0), first);
    std::set<std::string> over = {"a", "b", "c", "d"};
    for (const size_t index : work->unanswered(10)) over.erase(work->line(index).value().custom_id);
    EXPECT_EQ(over.size(),
              static_cast<size_t>(std::count(log.begin(), log.begin() + n_kept, '\n')));
    while (true) {
      const std::optional<size_t> index = work->next();
      if (!index) break;
      const BatchLine line = work->line(*index).value();
      EXPECT_TRUE(work->answered(*index, line.custom_id, *index == 1 ? 400 : 200, line.body).ok());
    }
    const std::string text = content_of(store_->log_of(id));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << n_kept;
  }
  finish(*work);
  EXPECT_EQ(ids_in(id, "output_file_id"), (Ids{"a", "c", "d"}));
  EXPECT_EQ(ids_in(id, "error_file_id"), (Ids{"b"}));
}

TEST_F(BatchWorkTest, LinesThatWerePutBackAreAskedFirst) {
  const std::string id = add_batch(asked_line("a") + asked_line("b") + asked_line("c"));
  const auto work = work_of(id);
  begin(*work);
  const size_t first = work->next().value(), second = work->next().value();
  work->put_back(second);
  work->put_back(first);
  EXPECT_EQ(work->next(), first);
  EXPECT_TRUE(work->answered(first, "a", 200, "{}").ok());
  EXPECT_EQ(work->next(), second);
}

TEST_F(BatchWorkTest, CancelledAndExpiredLinesHaveErrors) {
  for (const bool is_cancelled : {true, false}) {
    const std::string id = add_batch(asked_line("a") + asked_line("b"));
    const auto work = work_of(id);
    begin(*work);
    EXPECT_TRUE(answer_next(*work));
    if (is_cancelled) {
      work->cancel();
    } else {
      now_ += 100;
    }
    EXPECT_FALSE(work->next().has_value());
    for (int i = 0; i < 5 && !work->is_over(); ++i) ASSERT_TRUE(work->advance().ok());
    const char* status = is_cancelled ? "cancelled" : "expired";
    EXPECT_EQ(object(id)["status"], status);
    EXPECT_EQ(object(id)[std::string(status) + "_at"], now_);
    EXPECT_EQ(object(id)["request_counts"], Json({{"total", 2}, {"completed", 1}, {"failed", 0}}));
    EXPECT_EQ(ids_in(id, "output_file_id"), (Ids{"a"}));
    EXPECT_EQ(ids_in(id, "error_file_id"), (Ids{"b"}));
    const Json error =
        Json::parse(content_of(store_->path_of(object(id)["error_file_id"].get<std::string>())));
    EXPECT_EQ(error["error"]["code"], std::string("batch_") + status);
    EXPECT_EQ(error["response"], nullptr);
  }
}

TEST_F(BatchWorkTest, ABatchThatExpiredBeforeItBeganHasNoFiles) {
  const std::string id = add_batch(asked_line("a"));
  now_ += 100;
  const auto work = work_of(id);
  ASSERT_TRUE(work->advance().ok());
  EXPECT_EQ(object(id)["status"], "expired");
  EXPECT_EQ(object(id)["output_file_id"], nullptr);
}

TEST_F(BatchWorkTest, AFullDiskLosesNothing) {
  const std::string id = add_batch(asked_line("a") + asked_line("b"));
  auto work = work_of(id);
  begin(*work);
  EXPECT_TRUE(answer_next(*work));
  const std::string big = R"({"text": ")" + std::string(size_t{1} << 20, 'x') + "\"}";
  {
    const FileSizeLimit limit(size_t{512} << 10);
    const size_t index = work->next().value();
    EXPECT_FALSE(work->answered(index, "b", 200, big).ok());
    EXPECT_FALSE(work->advance().ok());
    EXPECT_FALSE(work->is_over());
    // The half that was written counts for nothing if the process ends now.
    const auto log = ResultLog::open(store_->log_of(id));
    EXPECT_EQ(log.value()->records().size(), 1u);
  }
  finish(*work);
  EXPECT_EQ(ids_in(id, "output_file_id"), (Ids{"a", "b"}));
}

TEST_F(BatchWorkTest, AnOutputThatCannotBeWrittenIsTriedAgain) {
  const std::string id = add_batch(asked_line("a"));
  auto work = work_of(id);
  begin(*work);
  EXPECT_TRUE(answer_next(*work));
  const std::string in_the_way = store_->path_of("file-1-output.part");
  fs::create_directory(in_the_way);
  EXPECT_FALSE(work->advance().ok());
  EXPECT_EQ(object(id)["status"], "finalizing");
  EXPECT_EQ(object(id)["output_file_id"], nullptr);
  work.reset();
  open_store();
  work = work_of(id);  // after a restart
  fs::remove(in_the_way);
  finish(*work);
  EXPECT_EQ(object(id)["status"], "completed");
  EXPECT_EQ(ids_in(id, "output_file_id"), (Ids{"a"}));
}

TEST_F(BatchWorkTest, OneProcessRunsBatches) {
  EXPECT_TRUE(store_->lock_batches());
  EXPECT_TRUE(store_->lock_batches());
  auto other = FileStore::open({.directory = directory().string(), .owners = {""}}).value();
  EXPECT_FALSE(other->lock_batches());
  store_.reset();
  EXPECT_TRUE(other->lock_batches());
}

TEST_F(BatchWorkTest, AKeyThatIsGoneHasBatchesOfNobody) {
  const std::string id = add_batch(asked_line("a"));
  auto other = FileStore::open({.directory = directory().string(), .owners = {"", "two"}}).value();
  const auto open = other->database().open_batches().value();
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0].id, id);
  EXPECT_FALSE(open[0].key.has_value());
  EXPECT_EQ(database().open_batches().value()[0].key, 1u);
}

TEST_F(BatchWorkTest, BatchesAreLimitedInNumber) {
  const auto add = [&](const std::string& id, const char* status) {
    const Json object = {{"id", id}, {"input_file_id", "file-x"}, {"status", "validating"}};
    const Status added = database().add_batch(1, object, {.n_open = 2, .n_kept = 3});
    if (!added) return added.error().message();
    const auto change = [&](Json& batch) -> Status {
      batch["status"] = status;
      return {};
    };
    EXPECT_TRUE(database().change_batch(id, change).ok());
    return std::string();
  };
  for (const char* id : {"a", "b", "c"})
    EXPECT_EQ(add(id, id[0] == 'b' ? "validating" : "failed"), "");
  EXPECT_EQ(add("d", "failed"), "");
  EXPECT_FALSE(database().find_batch(1, "a").ok()) << "the oldest";
  EXPECT_EQ(add("e", "validating"), "");
  EXPECT_TRUE(database().find_batch(1, "b").ok()) << "it is not over";
  EXPECT_EQ(add("f", "failed"), "2 batches are not over, expected fewer than 2 before another");
  EXPECT_TRUE(database().find_batch(1, "c").ok());
}

TEST_F(BatchWorkTest, SweepsWhatNothingRefersTo) {
  const std::string id = add_batch(asked_line("a"));
  const std::string used = object(id)["input_file_id"];
  const fs::path files = directory() / "files", logs = directory() / "batches";
  for (const fs::path& path : {files / "file-old", files / "file-new", files / "file-x.part",
                               logs / "batch_gone.log", logs / (id + ".log")})
    std::ofstream(path) << "x";
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(2);
  for (const fs::path& path : {files / "file-old", files / "file-x.part", files / used,
                               logs / "batch_gone.log", logs / (id + ".log")})
    fs::last_write_time(path, old);
  ASSERT_TRUE(store_->sweep().ok());
  EXPECT_FALSE(fs::exists(files / "file-old"));
  EXPECT_FALSE(fs::exists(files / "file-x.part"));
  EXPECT_FALSE(fs::exists(logs / "batch_gone.log"));
  EXPECT_TRUE(fs::exists(files / "file-new")) << "an upload may be under way";
  EXPECT_TRUE(fs::exists(files / used));
  EXPECT_TRUE(fs::exists(logs / (id + ".log")));
}

TEST_F(BatchWorkTest, ExpiredFilesAreGoneUnlessABatchReadsThem) {
  const StoredFile file{.id = "file-a",
                        .filename = "a",
                        .purpose = "batch",
                        .n_bytes = 1,
                        .created = now_,
                        .expires = now_ + 10};
  ASSERT_TRUE(database().add_file(1, file, {}).ok());
  EXPECT_TRUE(database().find_file(1, "file-a", now_ + 9).ok());
  EXPECT_FALSE(database().find_file(1, "file-a", now_ + 10).ok());
  EXPECT_FALSE(database().find_file(2, "file-a", now_).ok());
  const Json batch = {{"id", "batch_x"}, {"input_file_id", "file-a"}, {"status", "in_progress"}};
  ASSERT_TRUE(database().add_batch(1, batch, {}).ok());
  ASSERT_TRUE(database().remove_expired(now_ + 10).ok());
  EXPECT_TRUE(database().has_file("file-a").value());
  EXPECT_FALSE(database().remove_file(1, "file-a", now_).ok()) << "a batch reads it";
  const auto end = [](Json& object) -> Status {
    object["status"] = "completed";
    return {};
  };
  ASSERT_TRUE(database().change_batch("batch_x", end).ok());
  ASSERT_TRUE(database().remove_expired(now_ + 10).ok());
  EXPECT_FALSE(database().has_file("file-a").value());
}

}  // namespace
}  // namespace pando::serve
