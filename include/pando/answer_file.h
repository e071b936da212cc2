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

// A file of answers with a journal beside it, PATH.journal, that says which answers are in it and
// by which settings they were made. Each answer is in the file before it is in the journal, and
// whatever the journal does not know is cut off when a run is resumed: after the process was
// killed at any moment nothing is lost and nothing is there twice. A crash of the machine may lose
// the answers that it had not written to the disk, which are then asked for again. A file whose
// name ends with .gz is a row of gzip members, each of the answers of a second or more: what is not
// yet in one is lost with the process, and asked for again.
class AnswerFile : public AnswerSink {
 public:
  // The settings that decide the answers: names and values.
  using Settings = std::vector<std::pair<std::string, std::string>>;

  // kInvalidArgument for a file that holds anything; the message says how much.
  static Status expect_empty(const std::filesystem::path& path);
  // An empty file. With `overwrite` what it held is lost, with its journal; otherwise as
  // expect_empty.
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
  bool was_finished() const;    // by an earlier run,
  uint64_t n_left_out() const;  // which left out so many lines and questions,
  std::string summary() const;  // and went like this; empty: it did not say

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
