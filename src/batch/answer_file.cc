#include "pando/answer_file.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <optional>

#include "base/errors.h"
#include "base/fault.h"
#include "batch/file_writer.h"
#include "batch/journal.h"

namespace pando {

namespace fs = std::filesystem;

namespace {

bool before(const AnswerRecord& a, const AnswerRecord& b) {
  return std::pair(a.line, a.question) < std::pair(b.line, b.question);
}

// The settings that differ, or nothing.
std::string differences(const AnswerFile::Settings& then, const AnswerFile::Settings& now) {
  const auto value = [](const AnswerFile::Settings& settings, const std::string& name) {
    for (const auto& [key, text] : settings)
      if (key == name) return "'" + text + "'";
    return std::string("not set");
  };
  std::string text;
  const auto compare = [&](const std::string& name) {
    const std::string was = value(then, name), is = value(now, name);
    if (was != is) text += fmt::format("{}{}: {}, now {}", text.empty() ? "" : "; ", name, was, is);
  };
  for (const auto& [name, unused] : now) compare(name);
  for (const auto& [name, unused] : then)
    if (value(now, name) == "not set") compare(name);
  return text;
}

}  // namespace

struct AnswerFile::State {
  fs::path path, journal_path;
  FileWriter answers, journal;
  std::string header;
  std::vector<JournalRecord> earlier;  // by line and question
  std::optional<Journal::End> finished;
  uint64_t end = 0;            // of the answers' file, with what is not yet written
  std::string lines, records;  // not yet written

  explicit State(const fs::path& p) : path(p), journal_path(p) { journal_path += ".journal"; }

  // With the lock.
  Status take() {
    if (Status status = answers.open(path); !status) return status;
    return answers.lock();
  }

  // What the journal says, or nothing where there is none.
  Result<std::optional<Journal>> open() {
    std::error_code ignored;
    if (Status status = take(); !status) return status.error();
    if (!fs::exists(journal_path, ignored)) return std::optional<Journal>();
    if (Status status = journal.open(journal_path); !status) return status.error();
    const Result<uint64_t> size = journal.size();
    if (!size) return size.error();
    const Result<std::string> text = journal.read(0, *size);
    if (!text) return text.error();
    Result<Journal> parsed = parse_journal(*text, journal_path.string());
    if (!parsed) return parsed.error();
    return std::optional<Journal>(std::move(*parsed));
  }

  // A journal of nothing but its header, and perhaps its end, in one step.
  Status write_anew(const std::string& text) {
    fs::path fresh = journal_path;
    fresh += ".new";
    std::error_code error;
    fs::remove(fresh, error);
    FileWriter file;
    if (Status status = file.open(fresh); !status) return status;
    if (Status status = file.truncate(0); !status) return status;
    if (Status status = file.write(text); !status) return status;
    if (Status status = file.sync(); !status) return status;
    fs::rename(fresh, journal_path, error);
    if (error) return io_error("cannot write '{}': {}", journal_path.string(), error.message());
    return {};
  }

  // First the journal, so that it never says more than there is.
  Status start() {
    if (Status status = write_anew(header); !status) return status;
    if (Status status = answers.truncate(0); !status) return status;
    return journal.open(journal_path);
  }

  Status go_on(Journal from) {
    const Result<uint64_t> size = answers.size();
    if (!size) return size.error();
    // What a crash of the machine may have left out.
    bool cut = false;
    while (!from.records.empty() && from.records.back().end > *size) {
      from.records.pop_back();
      cut = true;
    }
    end = from.records.empty() ? 0 : from.records.back().end;
    finished = from.finished;
    if (finished) {
      if (finished->n_bytes == *size) return {};
      return bad_file(
          "'{}' has {} bytes, expected the {} of a run that is finished; delete '{}' to begin anew",
          path.string(), *size, finished->n_bytes, journal_path.string());
    }
    if (cut) {
      std::string text = header;
      for (const JournalRecord& record : from.records) text += journal_line(record);
      if (Status status = write_anew(text); !status) return status;
      if (Status status = journal.open(journal_path); !status) return status;
    } else if (Status status = journal.truncate(from.n_bytes); !status) {
      return status;
    }
    if (Status status = answers.truncate(end); !status) return status;
    earlier = std::move(from.records);
    std::sort(earlier.begin(), earlier.end(), before);
    return {};
  }
};

AnswerFile::AnswerFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
AnswerFile::~AnswerFile() = default;

Status AnswerFile::expect_empty(const fs::path& path) {
  std::error_code none;
  if (const uintmax_t size = fs::file_size(path, none); none || size == 0) return {};
  uint64_t n_lines = 0;
  std::ifstream file(path, std::ios::binary);
  for (std::string line; std::getline(file, line);) ++n_lines;
  fs::path journal = path;
  journal += ".journal";
  if (fs::exists(journal, none))
    return invalid_argument("'{}' holds {} answers of an earlier run, expected an empty file",
                            path.string(), n_lines);
  return invalid_argument("'{}' holds {} lines and has no journal, expected an empty file",
                          path.string(), n_lines);
}

Result<std::unique_ptr<AnswerFile>> AnswerFile::create(const fs::path& path,
                                                       const Settings& settings, bool overwrite) {
  auto file = std::unique_ptr<AnswerFile>(new AnswerFile(std::make_unique<State>(path)));
  State& state = *file->state_;
  if (Status status = state.take(); !status) return status.error();
  if (!overwrite)
    if (Status status = expect_empty(path); !status) return status.error();
  state.header = journal_header(file->created_, settings);
  if (Status status = state.start(); !status) return status.error();
  return file;
}

Result<std::unique_ptr<AnswerFile>> AnswerFile::resume(const fs::path& path,
                                                       const Settings& settings) {
  auto file = std::unique_ptr<AnswerFile>(new AnswerFile(std::make_unique<State>(path)));
  State& state = *file->state_;
  Result<std::optional<Journal>> found = state.open();
  if (!found) return found.error();
  if (!*found) {
    const Result<uint64_t> size = state.answers.size();
    if (!size) return size.error();
    if (*size > 0)
      return bad_file("'{}' has no journal '{}' beside it: it cannot be resumed", path.string(),
                      state.journal_path.string());
    state.header = journal_header(file->created_, settings);
    if (Status status = state.start(); !status) return status.error();
    return file;
  }
  // As a journal would give them back.
  const Result<Journal> now = parse_journal(journal_header(0, settings), "settings");
  if (!now) return now.error();
  if (const std::string text = differences((*found)->settings, now->settings); !text.empty())
    return invalid_argument("'{}' is of a run with other settings: {}", path.string(), text);
  file->created_ = (*found)->created;
  state.header = journal_header(file->created_, settings);
  if (Status status = state.go_on(std::move(**found)); !status) return status.error();
  return file;
}

uint64_t AnswerFile::n_earlier() const {
  uint64_t n = 0;
  for (const JournalRecord& record : state_->earlier) n += static_cast<uint64_t>(record.n_answers);
  return n;
}

bool AnswerFile::was_finished() const { return state_->finished.has_value(); }
uint64_t AnswerFile::n_left_out() const {
  return state_->finished ? state_->finished->n_left_out : 0;
}
uint64_t AnswerFile::n_records() const { return state_->earlier.size(); }

void AnswerFile::append(const AnswerRecord& record, const std::string& lines) {
  state_->lines += lines;
  state_->end += lines.size();
  JournalRecord written{record};
  written.end = state_->end;
  state_->records += journal_line(written);
}

Status AnswerFile::commit() {
  if (state_->records.empty()) return {};
  if (Status status = state_->answers.write(state_->lines); !status) return status;
  if (fault_on(Fault::kKilledInJournal)) {
    const size_t half = state_->records.size() / 2;
    static_cast<void>(state_->journal.write(state_->records.substr(0, half)));
    std::raise(SIGKILL);
  }
  if (Status status = state_->journal.write(state_->records); !status) return status;
  state_->lines.clear();
  state_->records.clear();
  return {};
}

Status AnswerFile::finish(uint64_t n_left_out) {
  if (Status status = state_->answers.sync(); !status) return status;
  return state_->write_anew(state_->header + journal_end({state_->end, n_left_out}));
}

const AnswerRecord* AnswerFile::find(uint64_t line, uint64_t question) const {
  const AnswerRecord key{.line = line, .question = question};
  const auto found = std::lower_bound(state_->earlier.begin(), state_->earlier.end(), key, before);
  return found != state_->earlier.end() && !before(key, *found) ? &*found : nullptr;
}

Result<std::string> AnswerFile::read(const AnswerRecord& found) const {
  const auto& record = static_cast<const JournalRecord&>(found);
  return state_->answers.read(record.begin, record.end);
}

}  // namespace pando
