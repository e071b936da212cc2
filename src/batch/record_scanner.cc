#include "batch/record_scanner.h"

#include <algorithm>

namespace pando {

bool RecordScanner::read_line(std::string& line) {
  if (!std::getline(input_, line)) return false;
  bytes_read_ += line.size() + (input_.eof() ? 0 : 1);
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
