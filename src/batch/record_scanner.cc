#include "batch/record_scanner.h"

#include <fmt/format.h>

#include <vector>

#include "ask/input_table.h"
#include "base/byte_order_mark.h"
#include "batch/input_kind.h"
#include "pando/file_input.h"

namespace pando {
namespace {

constexpr int kEof = std::istream::traits_type::eof();

bool is_white(int c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

int RecordScanner::get() {
  int c = kEof;
  if (!back_.empty()) {
    c = static_cast<unsigned char>(back_.front());
    back_.erase(0, 1);
  } else if (input_.good()) {
    c = input_.get();
    if (input_.bad()) {
      const auto* file = dynamic_cast<const FileInput*>(input_.rdbuf());
      failure_ = file != nullptr && !file->failure().empty() ? file->failure() : "a device error";
    }
  }
  bytes_read_ += c != kEof;
  return c;
}

void RecordScanner::put_back(std::string_view text) {
  back_.insert(0, text);
  bytes_read_ -= text.size();
}

// As std::getline, but not of a line that fills the memory.
bool RecordScanner::get_line(std::string& line) {
  line.clear();
  for (int c; (c = get()) != kEof;) {
    if (c == '\n') return true;
    line += static_cast<char>(c);
    if (line.size() <= kLongestLine) continue;
    failure_ = fmt::format("line {} has more than {} bytes", line_ + 1, kLongestLine);
    return false;
  }
  return failure_.empty() && !line.empty();  // a line that was not read to its end says nothing
}

bool RecordScanner::read_line(std::string& line) {
  if (!failure_.empty() || !get_line(line)) return false;
  if (++line_ == 1) {
    if (line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
    if (const std::optional<InputKind> kind = packed_kind(line)) {
      const bool takes_json = format_ == InputFormat::kJsonLines;
      failure_ = "it is " + kind->expecting(takes_json ? "JSON lines" : "a table");
      return false;
    }
  }
  if (line.ends_with('\r')) line.pop_back();
  if (format_ == InputFormat::kJsonLines && line.find("}\r{") != std::string::npos) {
    failure_ = fmt::format(
        "line {} has objects between carriage returns, expected newlines (hint: convert them: tr "
        "'\\r' '\\n')",
        line_);
    return false;
  }
  return true;
}

std::optional<InputRecord> RecordScanner::next() {
  if (!begun_ && format_ == InputFormat::kJsonLines) in_array_ = begins_array();
  if (!begun_ && !in_array_) look_ahead();
  begun_ = true;
  if (in_array_) return failure_.empty() ? read_element() : std::nullopt;
  if (ahead_.empty()) return failure_.empty() ? read_record() : std::nullopt;
  InputRecord record = std::move(ahead_.front());
  ahead_.pop_front();
  return record;
}

// Says whether the first character is a bracket, which is taken then.
bool RecordScanner::begins_array() {
  std::string seen;
  int c;
  do {
    c = get();
    if (c != kEof) seen += static_cast<char>(c);
  } while (is_white(c) || (c != kEof && kByteOrderMark.starts_with(seen)));
  if (c == '[') return true;
  put_back(seen);
  return false;
}

int RecordScanner::get_in_array() {
  int c;
  do c = get();
  while (is_white(c));
  return c;
}

std::optional<InputRecord> RecordScanner::no_record(std::string failure) {
  if (failure_.empty()) failure_ = std::move(failure);
  return std::nullopt;
}

std::optional<InputRecord> RecordScanner::read_element() {
  const std::string after = fmt::format("after object {}", n_elements_);
  int c = get_in_array();
  if (n_elements_ > 0 && c == ',') {
    c = get_in_array();
  } else if (c == ']') {
    c = get_in_array();
    if (c != kEof)
      return no_record(fmt::format("the array ends {}, but more text follows: '{}'", after,
                                   static_cast<char>(c)));
    put_back("]");  // so that it ends again
    return std::nullopt;
  } else if (n_elements_ > 0) {
    return no_record(fmt::format("the array does not continue {}, expected a comma or ']'", after));
  }
  InputRecord record{.line = ++n_elements_, .in_array = true};
  size_t depth = 0;
  bool in_string = false, is_escaped = false;
  for (; c != kEof; c = get()) {
    const bool is_end = !in_string && depth == 0 && (c == ',' || c == ']');
    if (is_end) break;
    record.text += static_cast<char>(c);
    if (record.text.size() > kLongestLine)
      return no_record(
          fmt::format("object {} of the array has more than {} bytes", n_elements_, kLongestLine));
    if (in_string) {
      in_string = c != '"' || is_escaped;
      is_escaped = c == '\\' && !is_escaped;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      depth -= depth > 0;
    }
  }
  if (c == kEof)
    return no_record(
        fmt::format("the array does not end: the input stops in object {}", n_elements_));
  put_back(std::string(1, static_cast<char>(c)));
  record.bytes_read = bytes_read_;
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
  const std::optional<InputKind> kind = other_kind(lines, task_);
  if (!kind) return;
  failure_ = "it is " + kind->expecting(fmt::format("JSON lines such as {}", example_line(task_)));
  ahead_.clear();
}

std::optional<InputRecord> RecordScanner::read_record() {
  InputRecord record;
  do {
    if (!read_line(record.text)) return std::nullopt;
  } while (record.text.find_first_not_of(" \t") == std::string::npos);
  record.line = line_;
  if (format_ != InputFormat::kJsonLines) {
    // Before quotes, which would join lines of JSON to one row.
    const auto kind = begun_ ? std::nullopt : kind_of_no_table(record.text);
    if (kind)
      return no_record("it is " + kind->expecting("a table whose first row names the columns"));
    ask::OpenQuote quote(format_ == InputFormat::kCsv ? ',' : '\t');
    std::string more;
    for (quote.read(record.text); quote.is_open() && read_line(more); quote.read(more)) {
      record.text += "\n" + more;
      ++record.n_lines;
      if (record.text.size() <= kLongestLine) continue;
      failure_ = fmt::format(
          "the row that starts in line {} has more than {} bytes (hint: is a closing quote "
          "missing?)",
          record.line, kLongestLine);
      return std::nullopt;
    }
    if (!failure_.empty()) return std::nullopt;
  }
  record.bytes_read = bytes_read_;
  return record;
}

}  // namespace pando
