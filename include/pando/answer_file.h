// A file of a batch's answers that outlives the process, with its journal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pando/answer_sink.h"
#include "pando/values/result.h"

namespace pando {

// A file of answers with a journal beside it, PATH.journal, which lists the answers in the file and
// the settings that made them. Each answer is in the file before it is in the journal, and a
// resumed run cuts off answers that the journal does not know. So the process may be killed at any
// moment: no answer is lost or written twice. A crash of the machine may lose answers that were not
// on the disk; they are asked for again. A file whose name ends with .gz is a sequence of gzip
// members with the answers of a second or more each; answers that are in no member yet are lost
// with the process, and asked for again.
class AnswerFile : public AnswerSink {
 public:
  // The settings that decide the answers: names and values.
  using Settings = std::vector<std::pair<std::string, std::string>>;

  // kInvalidArgument for a file that holds anything; the message says how much.
  static Status expect_empty(const std::filesystem::path& path);
  // Creates an empty file. With `overwrite`, an existing file and its journal are lost; otherwise
  // as expect_empty.
  static Result<std::unique_ptr<AnswerFile>> create(const std::filesystem::path& path,
                                                    const Settings& settings,
                                                    bool overwrite = false);
  // Opens an existing file to continue it, or creates an empty one. Reads the whole file. Errors:
  // kInvalidArgument names the settings that differ; kBadFile for a file without a journal, for a
  // malformed journal, for a finished run whose answers are not all there, and for a file or
  // journal that was changed after the run.
  static Result<std::unique_ptr<AnswerFile>> resume(const std::filesystem::path& path,
                                                    const Settings& settings);
  // The two: kUnavailable while another process has the file open; kIo.
  ~AnswerFile() override;

  uint64_t n_earlier() const;  // answers
  // Complete lines that resume() cut off, because the journal does not confirm them; of .gz bytes.
  uint64_t n_cut_off() const;
  bool was_finished() const;    // by an earlier run
  uint64_t n_left_out() const;  // lines and questions without an answer in that run
  std::string summary() const;  // summary of that run; empty: it has none

  void append(const AnswerRecord& record, const std::string& lines) override;
  Status commit() override;
  Status flush() override;
  Status finish(uint64_t n_left_out, const std::string& summary) override;
  const AnswerRecord* find(uint64_t line, uint64_t question) const override;
  Result<std::string> read(const AnswerRecord& found) const override;
  uint64_t n_records() const override;  // of earlier runs

 private:
  struct State;
  explicit AnswerFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pando
