// Destination of a batch's answers.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "pando/values/result.h"

namespace pando {

// The answers to one question, or to one line of an OpenAI batch.
struct AnswerRecord {
  uint64_t line = 0;         // of the input, from 1
  uint64_t question = 0;     // of the line, from 0
  uint64_t input_hash = 0;   // of the line's text
  uint64_t logits_hash = 0;  // its summand of BatchSummary::combined_hash
  int n_answers = 0;
  bool skipped = false;  // because it is too long, as the options say; no failure
};

// Takes answers in the order in which they are ready. One thread.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  // Whole lines; kept with one of the next commits, at the latest with the next flush.
  virtual void append(const AnswerRecord& record, const std::string& lines) = 0;
  virtual Status commit() = 0;
  virtual Status flush() { return commit(); }
  // Ends the output: nothing is left to answer; `n_left_out` lines and questions have no answer.
  // `summary` is kept for later readers.
  virtual Status finish(uint64_t /*n_left_out*/, const std::string& /*summary*/) { return {}; }

  // The record that an earlier run wrote; null if there is none.
  virtual const AnswerRecord* find(uint64_t line, uint64_t question) const;
  virtual Result<std::string> read(const AnswerRecord& found) const;
  virtual uint64_t n_records() const { return 0; }
  // When the first run began, in seconds since 1970.
  int64_t created() const { return created_; }

 protected:
  AnswerSink();
  int64_t created_;
};

// Writes answers to a stream, and remembers none.
class AnswerStream : public AnswerSink {
 public:
  // `gzip`: each commit is a member of a gzip file.
  explicit AnswerStream(std::ostream& stream, bool gzip = false) : stream_(stream), gzip_(gzip) {}
  void append(const AnswerRecord& record, const std::string& lines) override;
  Status commit() override;

 private:
  std::ostream& stream_;
  bool gzip_;
  std::string lines_;  // appended since the last commit
  uint64_t n_ = 0;
};

}  // namespace pando
