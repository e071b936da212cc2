#include "batch/record_scanner.h"

#include <fmt/format.h>

#include <algorithm>

namespace pando {

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
    const auto n_quotes = [](const std::string& text) {
      return std::count(text.begin(), text.end(), '"');
    };
    std::string more;
    for (auto n = n_quotes(record.text); n % 2 != 0 && read_line(more); n += n_quotes(more))
      record.text += "\n" + more;
  }
  record.bytes_read = bytes_read_;
  return record;
}

}  // namespace pando
