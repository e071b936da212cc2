// One batch that is not over: its lines, their results and its row.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "pando/values/result.h"
#include "serve/batch_input.h"
#include "serve/file_store.h"
#include "serve/result_log.h"

namespace pando::serve {

// Used by one thread. Whatever ends the process, a BatchWork of the same row goes on with the lines
// that have no complete record. Each error leaves the batch as it was, to be tried again.
class BatchWork {
 public:
  struct Options {
    size_t max_line_bytes;
    // Why requests for this model are refused; empty: they are not.
    std::function<std::string(const std::string& model)> not_served;
  };
  // batch.key is there, or the batch has expired.
  BatchWork(FileStore& files, StoredBatch batch, Options options);

  const std::string& id() const { return batch_.id; }
  uint64_t key() const { return *batch_.key; }
  std::string endpoint() const { return batch_.object["endpoint"]; }
  int64_t created() const { return batch_.object["created_at"]; }
  int64_t expires() const { return batch_.object["expires_at"]; }
  bool is_resumed() const { return is_resumed_; }     // lines may have been asked by an earlier run
  bool has_begun() const { return log_ != nullptr; }  // its lines are known
  bool is_over() const { return is_batch_over(batch_.object); }
  const Json& object() const { return batch_.object; }

  // A client cancelled it, or its time is over. Lines that have no result will not be run.
  void cancel() { is_cancelled_ = true; }
  bool is_ending() const { return is_cancelled_ || is_expired(); }

  // Does a part of what can be done without asking a line: reads the input, writes results, ends
  // the batch. kIo.
  Status advance();

  // The next line to ask, which is open from then on; absent: none can be asked now.
  std::optional<size_t> next();
  Result<BatchLine> line(size_t index) const { return input_->line(index); }
  // Lines without a result, at most `most`, the first ones.
  std::vector<size_t> unanswered(size_t most) const;
  // Identifies a line, also after a restart: 16 hexadecimal digits.
  std::string id_of(size_t index) const;

  // An open line has its answer. status: of HTTP; body: JSON.
  // kIo: the answer is kept in memory, and written later.
  Status answered(size_t index, const std::string& custom_id, int status, std::string body);
  // Writes results that are not on the disk. kIo.
  Status save();
  // An open line is to be asked again.
  void put_back(size_t index);

 private:
  using Clock = std::chrono::steady_clock;
  bool can_ask() const;
  enum class State : char { kWaiting, kOpen, kOver };
  bool is_expired() const { return files_.now() >= expires(); }
  bool is_all_over() const { return n_over_ == states_.size(); }
  Status read_input();
  Status begin();
  Status fail(const std::vector<BatchProblem>& problems);
  Status report();  // counts, and what was committed reaches the disk
  Status give_up_rest();
  Status begin_finish();
  Status finish();
  // Adds the file of answers, or that of errors, unless it would be empty.
  Status write_output(bool of_answers, std::vector<StoredFile>& files) const;
  Status change(const FileDatabase::Change& change, const std::vector<StoredFile>& files = {});
  size_t n_ended(LineEnd end) const { return n_ended_[end == LineEnd::kAnswered ? 0 : 1]; }
  void count(LineEnd end);
  Json counts() const;

  FileStore& files_;
  StoredBatch batch_;
  const Options options_;
  const bool is_resumed_;
  bool is_cancelled_;
  std::unique_ptr<BatchInput> input_;
  bool is_read_ = false;            // all of the input
  std::unique_ptr<ResultLog> log_;  // once the batch has begun
  std::vector<State> states_;       // of lines
  size_t next_ = 0;                 // no line before it waits
  size_t n_over_ = 0;               // lines
  size_t n_ended_[2] = {};          // lines that are answered, that failed
  int n_open_ = 0;
  Clock::time_point report_at_ = {};  // the next report
};

}  // namespace pando::serve
