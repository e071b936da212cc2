#include "pando/answer_file.h"

#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <utility>

#include "base/counted.h"
#include "base/errors.h"
#include "base/fault.h"
#include "batch/file_writer.h"
#include "batch/gzip.h"
#include "batch/journal.h"
#include "pando/output_form.h"

namespace pando {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kMemberEvery{1};  // small members pack badly

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

// Hash of consecutive bytes.
class RunningHash {
 public:
  RunningHash() : state_(XXH3_createState(), XXH3_freeState) { XXH3_64bits_reset(state_.get()); }
  void add(std::string_view bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
  uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
};

}  // namespace

struct AnswerFile::State {
  fs::path path, journal_path;
  FileWriter answers, journal;
  std::string header;                  // the object of the journal's first line
  JournalHash journal_hash;            // of all its lines
  RunningHash answers_hash;            // of the answer file up to `end`
  std::vector<JournalRecord> earlier;  // by line and question
  std::optional<Journal::End> finished;
  uint64_t end = 0;                    // of the answers' file
  uint64_t n_cut_off = 0;              // lines behind it, or bytes
  std::string lines;                   // not yet written,
  std::vector<JournalRecord> pending;  // with their places in these
  const bool gzip;
  Clock::time_point last_member = Clock::now();
  uint64_t unpacked = UINT64_MAX;  // where the member that was read last begins,
  std::string unpacked_text;       // and its text

  explicit State(const fs::path& p) : path(p), journal_path(p), gzip(p.extension() == ".gz") {
    journal_path += ".journal";
  }

  // With the lock.
  Status take() {
    if (Status status = answers.open(path); !status) return status;
    return answers.lock();
  }

  // The journal, or nothing if there is none. It refers to `text`.
  Result<std::optional<Journal>> open(std::string& text) {
    std::error_code ignored;
    if (Status status = take(); !status) return status.error();
    if (!fs::exists(journal_path, ignored)) return std::optional<Journal>();
    if (Status status = journal.open(journal_path); !status) return status.error();
    const Result<uint64_t> size = journal.size();
    if (!size) return size.error();
    Result<std::string> all = journal.read(0, *size);
    if (!all) return all.error();
    text = std::move(*all);
    Result<Journal> parsed = parse_journal(text, journal_path.string());
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
    if (Status status = write_anew(journal_hash.line(header, answers_hash.value())); !status)
      return status;
    if (Status status = answers.truncate(0); !status) return status;
    return journal.open(journal_path);
  }

  Error do_not_fit(uint64_t begin) const {
    return bad_file(
        "'{}' and its journal '{}' do not fit together from byte {} on, expected both as the run "
        "left them (hint: to start over, delete both)",
        path.string(), journal_path.string(), begin);
  }

  // Checks that the run wrote these answers and this journal. Reads the answers up to `end`.
  Status check(const Journal& from) {
    for (size_t i = 0; i < from.lines.size(); ++i) {
      const uint64_t begin = end;
      if (i > 0) end = from.finished ? from.finished->n_bytes : from.records[i - 1].end;
      constexpr uint64_t kPiece = uint64_t{1} << 20;
      for (uint64_t at = begin; at < end; at += kPiece) {
        const Result<std::string> bytes = answers.read(at, std::min(at + kPiece, end));
        if (!bytes) return bytes.error();
        answers_hash.add(*bytes);
      }
      if (!journal_hash.fits(from.lines[i], answers_hash.value())) return do_not_fit(begin);
    }
    return {};
  }

  // Counts what stands behind `end`.
  Status count_rest(uint64_t size) {
    if (gzip) return n_cut_off = size - end, Status();
    constexpr uint64_t kPiece = uint64_t{1} << 20;
    for (uint64_t at = end; at < size; at += kPiece) {
      const Result<std::string> bytes = answers.read(at, std::min(at + kPiece, size));
      if (!bytes) return bytes.error();
      n_cut_off += static_cast<uint64_t>(std::ranges::count(*bytes, '\n'));
    }
    return {};
  }

  Status go_on(Journal from) {
    const Result<uint64_t> size = answers.size();
    if (!size) return size.error();
    // A crash of the machine may have left some records without their bytes.
    const auto is_there = [&](const JournalRecord& record) {
      return record.end <= *size && (!record.in_member || record.in_member->n_behind == 0);
    };
    // Without a record of existing bytes, the file may be another run's.
    if (!from.records.empty() && from.records[0].end > *size && *size > 0) return do_not_fit(0);
    while (!from.records.empty() && !is_there(from.records.back())) {
      from.records.pop_back();
      from.lines.pop_back();
    }
    finished = from.finished;
    if (finished && finished->n_bytes != *size)
      return bad_file(
          "'{}' has {} bytes, expected {} as written by the finished run (hint: '{}' belongs to "
          "it; to start over, delete both)",
          path.string(), *size, finished->n_bytes, journal_path.string());
    if (Status status = check(from); !status || finished) return status;
    if (Status status = count_rest(*size); !status) return status;
    if (Status status = journal.truncate(from.lines.back().end); !status) return status;
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
  fs::path journal = path;
  journal += ".journal";
  const bool is_of_run = fs::exists(journal, none);
  std::string found = counted(fs::file_size(path), "bytes");
  const Result<OutputForm> form = output_form(path);
  if (!form || (!form->gzip && form->format == OutputFormat::kJsonLines)) {
    uint64_t n_lines = 0;
    std::ifstream file(path, std::ios::binary);
    for (std::string line; std::getline(file, line);) ++n_lines;
    found = counted(n_lines, is_of_run ? "answers" : "lines");
  }
  return invalid_argument("'{}' holds {} {}, expected an empty file", path.string(), found,
                          is_of_run ? "of an earlier run" : "without a journal");
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
  std::string text;
  Result<std::optional<Journal>> found = state.open(text);
  if (!found) return found.error();
  if (!*found) {
    const Result<uint64_t> size = state.answers.size();
    if (!size) return size.error();
    if (*size > 0)
      return bad_file("'{}' cannot be resumed: its journal '{}' is missing", path.string(),
                      state.journal_path.string());
    state.header = journal_header(file->created_, settings);
    if (Status status = state.start(); !status) return status.error();
    return file;
  }
  // As a journal would give them back.
  const std::string header = JournalHash().line(journal_header(0, settings), 0);
  const Result<Journal> now = parse_journal(header, "settings");
  if (!now) return now.error();
  if (const std::string other = differences((*found)->settings, now->settings); !other.empty())
    return invalid_argument("'{}' comes from a run with other settings: {}", path.string(), other);
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

uint64_t AnswerFile::n_cut_off() const { return state_->n_cut_off; }
bool AnswerFile::was_finished() const { return state_->finished.has_value(); }
uint64_t AnswerFile::n_left_out() const {
  return state_->finished ? state_->finished->n_left_out : 0;
}
std::string AnswerFile::summary() const {
  return state_->finished ? state_->finished->summary : "";
}
uint64_t AnswerFile::n_records() const { return state_->earlier.size(); }

void AnswerFile::append(const AnswerRecord& record, const std::string& lines) {
  JournalRecord written{record};
  written.begin = state_->lines.size();
  state_->lines += lines;
  written.end = state_->lines.size();
  state_->pending.push_back(written);
}

Status AnswerFile::commit() {
  if (state_->gzip && Clock::now() - state_->last_member < kMemberEvery) return {};
  return flush();
}

Status AnswerFile::flush() {
  State& s = *state_;
  // Writes that fail are not tried again: they would stand behind the half that was written.
  std::vector<JournalRecord> pending = std::exchange(s.pending, {});
  std::string lines = std::exchange(s.lines, {});
  if (pending.empty()) return {};
  if (s.gzip) lines = gzip_member(lines);
  if (s.gzip) s.answers_hash.add(lines);
  std::string records;
  for (size_t i = 0; i < pending.size(); ++i) {
    JournalRecord& record = pending[i];
    if (s.gzip) {
      record.in_member = {record.begin, record.end, pending.size() - 1 - i};
      record.end = lines.size();
    } else {
      s.answers_hash.add(std::string_view(lines).substr(record.begin, record.end - record.begin));
    }
    record.end += s.end;
    records += s.journal_hash.line(journal_line(record), s.answers_hash.value());
  }
  if (Status status = s.answers.write(lines); !status) return status;
  if (fault_on(Fault::kKilledInJournal)) {
    static_cast<void>(s.journal.write(records.substr(0, records.size() / 2)));
    std::raise(SIGKILL);
  }
  if (Status status = s.journal.write(records); !status) return status;
  s.end += lines.size();
  s.last_member = Clock::now();
  return {};
}

Status AnswerFile::finish(uint64_t n_left_out, const std::string& summary) {
  if (Status status = flush(); !status) return status;
  if (Status status = state_->answers.sync(); !status) return status;
  JournalHash hash;
  const std::string first = hash.line(state_->header, RunningHash().value());
  return state_->write_anew(first + hash.line(journal_end({state_->end, n_left_out, summary}),
                                              state_->answers_hash.value()));
}

const AnswerRecord* AnswerFile::find(uint64_t line, uint64_t question) const {
  const AnswerRecord key{.line = line, .question = question};
  const auto found = std::lower_bound(state_->earlier.begin(), state_->earlier.end(), key, before);
  return found != state_->earlier.end() && !before(key, *found) ? &*found : nullptr;
}

Result<std::string> AnswerFile::read(const AnswerRecord& found) const {
  const auto& record = static_cast<const JournalRecord&>(found);
  Result<std::string> bytes = state_->unpacked == record.begin && record.in_member
                                  ? Result<std::string>(std::string())
                                  : state_->answers.read(record.begin, record.end);
  if (!bytes || !record.in_member) return bytes;
  if (state_->unpacked != record.begin) {
    Result<std::string> text = text_of_member(*bytes);
    if (!text)
      return in_file(fmt::format("'{}'", state_->path.string()),
                     with_code(ErrorCode::kBadFile, std::move(text).error()));
    state_->unpacked_text = std::move(*text);
    state_->unpacked = record.begin;
  }
  if (record.in_member->end > state_->unpacked_text.size())
    return bad_file("'{}' has a gzip member of {} bytes, but the journal says {}",
                    state_->path.string(), state_->unpacked_text.size(), record.in_member->end);
  return state_->unpacked_text.substr(record.in_member->begin,
                                      record.in_member->end - record.in_member->begin);
}

}  // namespace pando
