#include "batch/record_scanner.h"

#include <fmt/format.h>

#include <vector>

#include "batch/input_kind.h"

namespace pando {
namespace {

// Whether a quoted cell goes on behind what was read of a row: quotes count where split_row takes
// them, at the beginning of a cell and, doubled, inside one.
class OpenQuote {
 public:
  explicit OpenQuote(char separator) : separator_(separator) {}
  void read(std::string_view text) {
    for (const char c : text) {
      const bool is_quote = c == '"';
      if (open_) {
        open_ = !is_quote;
        closed_ = is_quote;
      } else {
        open_ = is_quote && (at_start_ || closed_);
        closed_ = false;
      }
      at_start_ = !open_ && c == separator_;
    }
  }
  bool is_open() const { return open_; }

 private:
  char separator_;
  bool open_ = false, closed_ = false, at_start_ = true;
};

}  // namespace

// As std::getline, but not of a line that fills the memory.
bool RecordScanner::get_line(std::string& line) {
  line.clear();
  while (input_.good()) {
    const int c = input_.get();
    if (c == std::istream::traits_type::eof()) break;
    ++bytes_read_;
    if (c == '\n') return true;
    line += static_cast<char>(c);
    if (line.size() <= kLongestLine) continue;
    failure_ = fmt::format("line {} has more than {} bytes", line_ + 1, kLongestLine);
    return false;
  }
  if (input_.bad()) failure_ = "an error of the device";
  return !line.empty();
}

bool RecordScanner::read_line(std::string& line) {
  if (!failure_.empty() || !get_line(line)) return false;
  if (++line_ == 1) {
    if (line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
    if (const std::string_view kind = packed_kind(line); !kind.empty()) {
      failure_ = fmt::format("it is {}, expected {}", kind,
                             format_ == InputFormat::kJsonLines ? "JSON lines" : "a table");
      return false;
    }
  }
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

std::optional<InputRecord> RecordScanner::next() {
  if (!begun_) look_ahead();
  begun_ = true;
  if (ahead_.empty()) return failure_.empty() ? read_record() : std::nullopt;
  InputRecord record = std::move(ahead_.front());
  ahead_.pop_front();
  return record;
}

// No further than it takes: lines may come one by one from somebody who waits for answers.
void RecordScanner::look_ahead() {
  std::optional<InputRecord> first = read_record();
  if (!first) return;
  ahead_.push_back(std::move(*first));
  if (format_ != InputFormat::kJsonLines || may_be_object(ahead_[0].text)) return;
  while (ahead_.size() < kFirstLines) {
    std::optional<InputRecord> record = read_record();
    if (!record) break;
    ahead_.push_back(std::move(*record));
    if (may_be_object(ahead_.back().text)) return;
  }
  std::vector<std::string_view> lines;
  for (const InputRecord& record : ahead_) lines.emplace_back(record.text);
  const std::string kind = other_kind(lines);
  if (kind.empty()) return;
  failure_ = fmt::format("it is {}, expected JSON lines, as {}", kind, example_line(task_));
  ahead_.clear();
}

std::optional<InputRecord> RecordScanner::read_record() {
  InputRecord record;
  do {
    if (!read_line(record.text)) return std::nullopt;
  } while (record.text.find_first_not_of(" \t") == std::string::npos);
  record.line = line_;
  if (format_ != InputFormat::kJsonLines) {
    OpenQuote quote(format_ == InputFormat::kCsv ? ',' : '\t');
    std::string more;
    for (quote.read(record.text); quote.is_open() && read_line(more); quote.read(more)) {
      record.text += "\n" + more;
      if (record.text.size() <= kLongestLine) continue;
      failure_ = fmt::format(
          "the row of line {} has more than {} bytes (hint: a quote that does not "
          "end)",
          record.line, kLongestLine);
      return std::nullopt;
    }
  }
  record.bytes_read = bytes_read_;
  return record;
}

}  // namespace pando
