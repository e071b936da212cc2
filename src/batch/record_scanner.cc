#include "batch/record_scanner.h"

#include <fmt/format.h>

#include <algorithm>

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
  if (++line_ == 1 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
  if (line.ends_with('\r')) line.pop_back();
  return true;
}

std::optional<InputRecord> RecordScanner::next() {
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
