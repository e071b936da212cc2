#include "batch/input_kind.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "text/utf8.h"

namespace pando {
namespace {

using namespace std::string_view_literals;

constexpr std::pair<std::string_view, std::string_view> kPacked[] = {
    {"\x1f\x8b"sv, "a gzip file (hint: pipe it through gunzip -c)"},
    {"\x28\xb5\x2f\xfd"sv, "a zstd file (hint: pipe it through zstd -dc)"},
    {"\xfd"
     "7zXZ"sv,
     "an xz file (hint: pipe it through xz -dc)"},
    {"BZh"sv, "a bzip2 file (hint: pipe it through bzip2 -dc)"},
    {"PK\x03\x04"sv, "a zip archive (perhaps a .docx or .xlsx file), not text"},
    {"PAR1"sv, "a Parquet file, not text"},
    {"ARROW1"sv, "an Arrow file, not text"},
    {"\x93NUMPY"sv, "a NumPy file, not text"},
    {"SQLite format 3"sv, "an SQLite database, not text"},
    {"GGUF\x03"sv, "a GGUF file, which is a model (hint: pass it as --model)"},
    {"GGUF\x02"sv, "a GGUF file, which is a model (hint: pass it as --model)"},
    {"\x89PNG"sv, "a PNG image, not text"},
    {"\xff\xd8\xff"sv, "a JPEG image, not text"},
    {"%PDF-"sv, "a PDF file, not text (hint: extract its text with pdftotext)"},
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

bool names_columns(std::string_view line) {
  return line.find_first_of(",\t") != std::string_view::npos &&
         std::ranges::any_of(
             std::initializer_list<std::string_view>{"prompt", "context", "text"},
             [&](std::string_view name) { return line.find(name) != std::string_view::npos; });
}

}  // namespace

std::string_view packed_kind(std::string_view first_line) {
  for (const auto& [magic, kind] : kPacked)
    if (first_line.starts_with(magic)) return kind;
  return {};
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
  }
  return R"({"prompt": "..."} or {"context": "...", "questions": ["..."]})";
}

bool may_be_object(std::string_view line) {
  const std::string_view text = trimmed(line);
  return text.starts_with('{') && text.ends_with('}');
}

std::string other_kind(std::span<const std::string_view> first_lines) {
  const bool is_text = std::ranges::none_of(first_lines, [](std::string_view line) {
    return line.find('\0') != std::string_view::npos || find_invalid_utf8(line);
  });
  if (!is_text && std::ranges::none_of(first_lines, may_be_object)) return "binary data, not text";
  if (first_lines.size() < 2 || std::ranges::any_of(first_lines, may_be_object)) return {};
  const std::string_view first = trimmed(first_lines[0]);
  // One that is torn is said to be so, with where.
  if (std::ranges::all_of(first_lines,
                          [](std::string_view line) { return trimmed(line).starts_with('{'); }))
    return {};
  if (first == "{")
    return "JSON over several lines (hint: put each object on its own line with jq -c ., or pass "
           "an array of objects, which can span lines)";
  return fmt::format("text: its first line is '{}'{}", beginning(first),
                     names_columns(first) ? " (hint: --format csv or tsv)" : "");
}

}  // namespace pando
