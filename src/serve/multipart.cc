#include "serve/multipart.h"

#include <boost/beast/core/string.hpp>
#include <utility>

#include "base/errors.h"

namespace pando::serve {
namespace {

constexpr std::string_view kFormType = "multipart/form-data";
constexpr std::string_view kLineEnd = "\r\n";
constexpr size_t kMostPartHeaderBytes = size_t{8} << 10;  // of one part
constexpr size_t kLongestBoundary = 70;                   // RFC 2046

std::string_view without_space(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_same(std::string_view one, std::string_view other) {
  return boost::beast::iequals(one, other);
}

Result<FormPart> part_of(std::string_view headers) {
  while (!headers.empty()) {
    const std::string_view line = headers.substr(0, headers.find(kLineEnd));
    headers.remove_prefix(std::min(line.size() + kLineEnd.size(), headers.size()));
    const size_t colon = line.find(':');
    if (colon == line.npos || !is_same(line.substr(0, colon), "content-disposition")) continue;
    std::optional<std::string> name = header_parameter(line, "name");
    if (!name) break;
    return FormPart{std::move(*name), header_parameter(line, "filename")};
  }
  return invalid_argument(
      "a part of the form has no name, expected 'Content-Disposition: "
      "form-data; name=\"...\"'");
}

}  // namespace

std::optional<std::string> header_parameter(std::string_view header, std::string_view name) {
  bool is_first = true;  // text before the first semicolon is no parameter
  while (!header.empty()) {
    std::string text, value;
    bool has_value = false, is_quoted = false;
    size_t i = 0;
    for (; i < header.size() && (is_quoted || header[i] != ';'); ++i) {
      const char c = header[i];
      if (c == '"') {
        is_quoted = !is_quoted;
      } else if (c == '=' && !is_quoted && !has_value) {
        has_value = true;
      } else if (is_quoted && c == '\\' && i + 1 < header.size() &&
                 (header[i + 1] == '"' || header[i + 1] == '\\')) {
        value += header[++i];
      } else {
        (has_value ? value : text) += c;
      }
    }
    if (!is_first && has_value && is_same(without_space(text), name)) return value;
    is_first = false;
    header.remove_prefix(std::min(i + 1, header.size()));
  }
  return std::nullopt;
}

Result<MultipartReader> MultipartReader::make(std::string_view content_type, FormSink& sink) {
  const std::string_view type = without_space(content_type.substr(0, content_type.find(';')));
  std::optional<std::string> boundary = header_parameter(content_type, "boundary");
  if (!is_same(type, kFormType) || !boundary || boundary->empty() ||
      boundary->size() > kLongestBoundary)
    return invalid_argument("the content type is '{}', expected '{}; boundary=...'",
                            one_line(content_type), kFormType);
  return MultipartReader(std::move(*boundary), sink);
}

MultipartReader::MultipartReader(std::string boundary, FormSink& sink)
    : delimiter_("\r\n--" + std::move(boundary)), sink_(&sink) {}

Status MultipartReader::add(std::string_view bytes) {
  rest_ += bytes;
  for (;;) {
    const Result<bool> goes_on = advance();
    if (!goes_on) return goes_on.error();
    if (!*goes_on) return {};
  }
}

Status MultipartReader::end() const {
  if (state_ == State::kOver) return {};
  return invalid_argument("the form ends early, expected '{}--' at its end",
                          one_line(delimiter_.substr(kLineEnd.size())));
}

Result<bool> MultipartReader::advance() {
  switch (state_) {
    case State::kBefore:
    case State::kPart:
      return read_part();
    case State::kBehindBoundary:
      if (rest_.size() < kLineEnd.size()) return false;
      if (!rest_.starts_with(kLineEnd) && !rest_.starts_with("--"))
        return invalid_argument("a boundary of the form is followed by '{}', expected a line end",
                                one_line(rest_.substr(0, kLineEnd.size())));
      state_ = rest_.starts_with("--") ? State::kOver : State::kHeaders;
      // Headers keep the line end: without any an empty line follows it.
      if (state_ == State::kOver) rest_.clear();
      return true;
    case State::kHeaders:
      return read_headers();
    case State::kOver:
      rest_.clear();  // RFC 2046 allows an epilogue
      return false;
  }
  return false;
}

Result<bool> MultipartReader::read_part() {
  const size_t found = rest_.find(delimiter_);
  const bool is_whole = found != rest_.npos;
  const size_t n_kept = delimiter_.size() - 1;  // may be the beginning of a delimiter
  const size_t n_bytes = is_whole ? found : rest_.size() - std::min(n_kept, rest_.size());
  if (state_ == State::kPart && n_bytes > 0)
    if (Status status = sink_->add_bytes(std::string_view(rest_).substr(0, n_bytes)); !status)
      return status.error();
  rest_.erase(0, is_whole ? found + delimiter_.size() : n_bytes);
  if (is_whole) state_ = State::kBehindBoundary;
  return is_whole;
}

Result<bool> MultipartReader::read_headers() {
  constexpr std::string_view kEmptyLine = "\r\n\r\n";
  const size_t end = rest_.find(kEmptyLine);
  if (end == rest_.npos && rest_.size() <= kMostPartHeaderBytes + kEmptyLine.size()) return false;
  if (end == rest_.npos || end > kMostPartHeaderBytes)
    return invalid_argument("the headers of a part of the form have more than {} bytes",
                            kMostPartHeaderBytes);
  const Result<FormPart> part = part_of(std::string_view(rest_).substr(0, end));
  if (!part) return part.error();
  if (Status status = sink_->begin_part(*part); !status) return status.error();
  rest_.erase(0, end + kEmptyLine.size());
  state_ = State::kPart;
  return true;
}

}  // namespace pando::serve
