#include "batch/input_kind.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ask/input_table.h"
#include "base/errors.h"
#include "text/utf8.h"

namespace pando {
namespace {

using namespace std::string_view_literals;

struct Packed {
  std::string_view magic, what, hint = {};
};
constexpr Packed kPacked[] = {
    {"\x1f\x8b"sv, "a gzip file", "pipe it through gunzip -c"},
    {"\x28\xb5\x2f\xfd"sv, "a zstd file", "pipe it through zstd -dc"},
    {"\xfd"
     "7zXZ"sv,
     "an xz file", "pipe it through xz -dc"},
    {"BZh"sv, "a bzip2 file", "pipe it through bzip2 -dc"},
    {"PK\x03\x04"sv, "a zip archive (perhaps a .docx or .xlsx file), not text"},
    {"PAR1"sv, "a Parquet file, not text", "python -m pando reads it"},
    {"ARROW1"sv, "an Arrow file, not text", "python -m pando reads it"},
    {"\x93NUMPY"sv, "a NumPy file, not text"},
    {"SQLite format 3"sv, "an SQLite database, not text"},
    {"GGUF\x03"sv, "a GGUF file, which is a model", "pass it as --model"},
    {"GGUF\x02"sv, "a GGUF file, which is a model", "pass it as --model"},
    {"\x89PNG"sv, "a PNG image, not text"},
    {"\xff\xd8\xff"sv, "a JPEG image, not text"},
    {"%PDF-"sv, "a PDF file, not text", "extract its text with pdftotext"},
    {"\x7f"
     "ELF"sv,
     "a program, not text"},
    {"\xff\xfe"sv, "text in UTF-16"},
    {"\xfe\xff"sv, "text in UTF-16"},
};

std::string_view trimmed(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(" \t") - begin + 1);
}

std::string beginning(std::string_view line) {
  constexpr size_t kShown = 40;
  if (line.size() <= kShown) return one_line(line);
  size_t end = kShown;
  while (end > 0 && (line[end] & 0xC0) == 0x80) --end;  // not inside a character
  return one_line(line.substr(0, end)) + "...";
}

// Says whether the cells of a line may name columns. n_in_next: cells of the next line; 0: none.
bool may_name_columns(const std::vector<std::string>& cells, size_t n_in_next) {
  constexpr size_t kLongestName = 40;
  const auto may_be_name = [](const std::string& cell) {
    return !cell.empty() && cell.size() <= kLongestName && cell.front() != ' ';
  };
  return cells.size() > 1 && std::ranges::all_of(cells, may_be_name) &&
         (std::ranges::any_of(cells, ask::is_asking_column) || cells.size() == n_in_next);
}

// "csv", "tsv" or nothing.
const char* table_format(std::span<const std::string_view> lines) {
  for (const auto& [separator, format] : {std::pair{'\t', "tsv"}, {',', "csv"}}) {
    const auto first = ask::split_row(lines[0], separator);
    if (!first) continue;
    const auto next = lines.size() < 2 ? first : ask::split_row(lines[1], separator);
    const size_t n_in_next = lines.size() < 2 || !next ? 0 : next->size();
    if (may_name_columns(*first, n_in_next)) return format;
  }
  return nullptr;
}

}  // namespace

std::string InputKind::expecting(std::string_view expected) const {
  return fmt::format("{}, expected {}{}", what, expected,
                     hint.empty() ? "" : fmt::format(" (hint: {})", hint));
}

std::optional<InputKind> packed_kind(std::string_view first_line) {
  for (const Packed& packed : kPacked)
    if (first_line.starts_with(packed.magic))
      return InputKind{std::string(packed.what), std::string(packed.hint)};
  return std::nullopt;
}

const char* example_line(BatchTask task) {
  switch (task) {
    case BatchTask::kAnswer:
      break;
    case BatchTask::kEmbed:
      return R"({"text": "..."})";
    case BatchTask::kRerank:
      return R"({"query": "...", "documents": ["..."]})";
    case BatchTask::kScore:
      return R"({"prompt": "...", "continuations": ["..."]})";
    case BatchTask::kClassify:
      return R"({"text": "..."})";
  }
  return R"({"prompt": "..."} or {"context": "...", "questions": ["..."]})";
}

bool may_be_object(std::string_view line) {
  const std::string_view text = trimmed(line);
  return text.starts_with('{') && text.ends_with('}');
}

std::optional<InputKind> other_kind(std::span<const std::string_view> first_lines, BatchTask task) {
  const bool is_text = std::ranges::none_of(first_lines, [](std::string_view line) {
    return line.find('\0') != std::string_view::npos || find_invalid_utf8(line);
  });
  if (!is_text && std::ranges::none_of(first_lines, may_be_object))
    return InputKind{"binary data, not text"};
  if (std::ranges::any_of(first_lines, may_be_object)) return std::nullopt;
  if (const char* format = table_format(first_lines))
    return InputKind{
        fmt::format("a {} table: its first line is '{}'",
                    format == std::string_view("csv") ? "CSV" : "TSV", beginning(first_lines[0])),
        takes_tables(task) ? fmt::format("--format {}", format) : ""};
  if (first_lines.size() < 2) return std::nullopt;
  const std::string_view first = trimmed(first_lines[0]);
  // One that is torn is said to be so, with where.
  if (std::ranges::all_of(first_lines,
                          [](std::string_view line) { return trimmed(line).starts_with('{'); }))
    return std::nullopt;
  if (first == "{")
    return InputKind{"JSON over several lines",
                     "put each object on its own line with jq -c ., or pass an array of objects, "
                     "which can span lines"};
  return InputKind{fmt::format("text: its first line is '{}'", beginning(first))};
}

std::optional<InputKind> kind_of_no_table(std::string_view first_line) {
  const std::string_view text = trimmed(first_line);
  if (!text.starts_with('{') && !text.starts_with('[')) return std::nullopt;
  const std::string_view inner = trimmed(text.substr(1));
  if (!inner.empty() && std::string_view("\"{}[]").find(inner.front()) == std::string_view::npos)
    return std::nullopt;
  return InputKind{fmt::format("JSON: its first line is '{}'", beginning(text)), "--format jsonl"};
}

}  // namespace pando
