#include "serve/batch_work.h"

#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "serve/new_file.h"

namespace pando::serve {
namespace {

constexpr size_t kReadAtATime = size_t{4} << 20;  // bytes of the input
constexpr size_t kWriteAtATime = size_t{1} << 20;
constexpr const char* kExpired =
    "This request could not be executed before the completion window expired.";
constexpr const char* kCancelled = "This batch was cancelled before this request was executed.";

bool has_status(const Json& batch, const char* status) { return is_text(batch["status"], status); }

Json result_line(const std::string& id, const std::string& custom_id) {
  return {{"id", "batch_req_" + id},
          {"custom_id", custom_id},
          {"response", nullptr},
          {"error", nullptr}};
}

}  // namespace

BatchWork::BatchWork(FileStore& files, StoredBatch batch, Options options)
    : files_(files),
      batch_(std::move(batch)),
      options_(std::move(options)),
      is_resumed_(!batch_.object["in_progress_at"].is_null()),
      is_cancelled_(has_status(batch_.object, "cancelling")) {}

Status BatchWork::change(const FileDatabase::Change& change, const std::vector<StoredFile>& files) {
  Result<Json> changed = files_.database().change_batch(id(), change, files);
  if (!changed) return changed.error();
  batch_.object = std::move(*changed);
  return {};
}

Status BatchWork::advance() {
  if (is_ending() && !has_begun() && !is_resumed_) return finish();
  if (!is_read_) return read_input();
  if (Status status = log_->commit(); !status) return status;
  if (is_ending() && n_open_ == 0 && !is_all_over()) return give_up_rest();
  if (is_all_over()) return finish();
  return report();
}

Status BatchWork::read_input() {
  if (input_ == nullptr) {
    auto input = BatchInput::open(files_.path_of(batch_.object["input_file_id"].get<std::string>()),
                                  {.endpoint = endpoint(),
                                   .max_line_bytes = options_.max_line_bytes,
                                   .not_served = options_.not_served,
                                   .checks = !is_resumed_});
    if (!input) return fail({{"invalid_file", input.error().message()}});
    input_ = std::move(*input);
  }
  const Result<bool> read = input_->scan(kReadAtATime);
  if (!read) return read.error();
  if (!*read) return {};
  if (!input_->problems().empty()) return fail(input_->problems());
  return begin();
}

Status BatchWork::begin() {
  auto log = ResultLog::open(files_.log_of(id()));
  if (!log) return log.error();
  states_.assign(input_->n_lines(), State::kWaiting);
  n_over_ = n_ended_[0] = n_ended_[1] = 0;
  for (const auto& [index, record] : (*log)->records()) {
    if (index >= states_.size()) continue;
    states_[index] = State::kOver;
    count(record.end);
  }
  const auto begun = [&](Json& batch) -> Status {
    if (has_status(batch, "validating")) batch["status"] = "in_progress";
    if (batch["in_progress_at"].is_null()) batch["in_progress_at"] = files_.now();
    batch["request_counts"] = counts();
    return {};
  };
  if (Status status = change(begun); !status) return status;
  log_ = std::move(*log);
  is_read_ = true;
  return {};
}

Status BatchWork::fail(const std::vector<BatchProblem>& problems) {
  Json data = Json::array();
  for (const BatchProblem& problem : problems) data.push_back(problem.json());
  return change([&](Json& batch) -> Status {
    batch["status"] = "failed";
    batch["failed_at"] = files_.now();
    batch["errors"] = {{"object", "list"}, {"data", data}};
    return {};
  });
}

void BatchWork::count(LineEnd end) {
  ++n_over_;
  if (end != LineEnd::kNotRun) ++n_ended_[end == LineEnd::kAnswered ? 0 : 1];
}

Json BatchWork::counts() const {
  return {{"total", states_.size()},
          {"completed", n_ended(LineEnd::kAnswered)},
          {"failed", n_ended(LineEnd::kFailed)}};
}

Status BatchWork::report() {
  constexpr std::chrono::seconds kReportEvery{1};
  if (Clock::now() < report_at_) return {};
  if (Status status = log_->sync(); !status) return status;
  const Json counted = counts();
  if (batch_.object["request_counts"] != counted) {
    const auto report = [&](Json& batch) -> Status {
      batch["request_counts"] = counted;
      return {};
    };
    if (Status status = change(report); !status) return status;
  }
  report_at_ = Clock::now() + kReportEvery;
  return {};
}

bool BatchWork::can_ask() const {
  return is_read_ && batch_.key && !is_ending() && !log_->has_pending() &&
         n_over_ + static_cast<size_t>(n_open_) < states_.size();
}

std::optional<size_t> BatchWork::next() {
  if (!can_ask()) return std::nullopt;
  while (states_.at(next_) != State::kWaiting) ++next_;
  states_[next_] = State::kOpen;
  ++n_open_;
  return next_++;
}

std::vector<size_t> BatchWork::unanswered(size_t most) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < states_.size() && found.size() < most; ++i)
    if (states_[i] == State::kWaiting) found.push_back(i);
  return found;
}

std::string BatchWork::id_of(size_t index) const {
  const std::string named = fmt::format("{} {}", id(), index);
  return fmt::format("{:016x}", XXH3_64bits(named.data(), named.size()));
}

void BatchWork::put_back(size_t index) {
  states_[index] = State::kWaiting;
  --n_open_;
  next_ = std::min(next_, index);
}

Status BatchWork::answered(size_t index, const std::string& custom_id, int status,
                           std::string body) {
  const std::string line_id = id_of(index);
  Json result = result_line(line_id, custom_id);
  result["response"] = {
      {"status_code", status}, {"request_id", line_id}, {"body", written_json(std::move(body))}};
  const LineEnd end = status == 200 ? LineEnd::kAnswered : LineEnd::kFailed;
  log_->add(index, end, json_text(result));
  states_[index] = State::kOver;
  --n_open_;
  count(end);
  return log_->commit();
}

Status BatchWork::save() {
  if (!has_begun()) return {};
  if (Status status = log_->commit(); !status) return status;
  return log_->sync();
}

Status BatchWork::give_up_rest() {
  for (size_t i = 0; i < states_.size(); ++i) {
    if (states_[i] == State::kOver) continue;
    const Result<BatchLine> line = input_->line(i);
    if (!line && line.error().code != ErrorCode::kBadFile) return line.error();
    Json result = result_line(id_of(i), line ? line->custom_id : "");
    result["error"] = {{"code", is_cancelled_ ? "batch_cancelled" : "batch_expired"},
                       {"message", is_cancelled_ ? kCancelled : kExpired}};
    log_->add(i, LineEnd::kNotRun, json_text(result));
    states_[i] = State::kOver;
    count(LineEnd::kNotRun);
  }
  return log_->commit();
}

Status BatchWork::write_output(bool of_answers, std::vector<StoredFile>& files) const {
  const char* name = of_answers ? "output" : "error";
  const std::string id = fmt::format("file-{}-{}", batch_.id.substr(batch_.id.find('_') + 1), name);
  NewFile output(files_.path_of(id));
  std::string text;
  for (const auto& [index, record] : log_->records()) {
    if ((record.end == LineEnd::kAnswered) != of_answers) continue;
    if (!output.is_open())
      if (Status status = output.open(); !status) return status;
    const Result<std::string> line = log_->text(record);
    if (!line) return line.error();
    text += *line;
    text += '\n';
    if (text.size() < kWriteAtATime) continue;
    if (Status status = output.write(text); !status) return status;
    text.clear();
  }
  if (!output.is_open()) return {};
  if (Status status = output.write(text); !status) return status;
  if (Status status = output.keep(); !status) return status;
  files.push_back({.id = id,
                   .filename = fmt::format("{}_{}.jsonl", batch_.id, name),
                   .purpose = "batch_output",
                   .n_bytes = output.n_bytes(),
                   .created = files_.now()});
  if (const auto expiry = batch_.object.find("output_expires_after"); expiry != batch_.object.end())
    files.back().expires = files.back().created + (*expiry)["seconds"].get<int64_t>();
  return {};
}

Status BatchWork::begin_finish() {
  return change([&](Json& batch) -> Status {
    if (!has_status(batch, "in_progress")) return {};
    batch["status"] = "finalizing";
    batch["finalizing_at"] = files_.now();
    return {};
  });
}

Status BatchWork::finish() {
  const bool was_run = has_begun() && std::ranges::none_of(log_->records(), [](const auto& record) {
                         return record.second.end == LineEnd::kNotRun;
                       });
  const char* status = was_run ? "completed" : is_cancelled_ ? "cancelled" : "expired";
  if (was_run && has_status(batch_.object, "in_progress"))
    if (Status begun = begin_finish(); !begun) return begun;
  std::vector<StoredFile> files;
  Json written = Json::object();  // members of the row
  if (has_begun())
    for (const bool of_answers : {true, false}) {
      const size_t n_files = files.size();
      if (Status output = write_output(of_answers, files); !output) return output;
      if (files.size() > n_files)
        written[of_answers ? "output_file_id" : "error_file_id"] = files.back().id;
    }
  const auto finished = [&](Json& batch) -> Status {
    batch["status"] = status;
    batch[fmt::format("{}_at", status)] = files_.now();
    batch["request_counts"] = counts();
    batch.update(written);
    return {};
  };
  if (Status changed = change(finished, files); !changed) return changed;
  unlink(files_.log_of(id()).c_str());  // a file that stays is swept later
  return {};
}

}  // namespace pando::serve
