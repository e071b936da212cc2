#include "text/chat/jinja_text.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <bitset>
#include <memory>
#include <utility>

#include "text/utf8.h"

namespace pando::jinja {
namespace {

char32_t point_at(std::string_view text, size_t at) {
  return static_cast<unsigned char>(text[at]) < 0x80 ? static_cast<unsigned char>(text[at])
                                                     : next_utf8(text.substr(at)).point;
}

// Offset of the character before byte `end`.
size_t before(std::string_view text, size_t end) {
  do --end;
  while (end > 0 && (text[end] & 0xc0) == 0x80);
  return end;
}

template <class Drop>
std::string_view strip_if(std::string_view text, Side side, const Drop& drop) {
  size_t begin = 0, end = text.size();
  if (side != Side::kRight)
    while (begin < end && drop(point_at(text, begin))) begin += utf8_length(text[begin]);
  if (side != Side::kLeft)
    while (end > begin) {
      const size_t at = before(text, end);
      if (!drop(point_at(text, at))) break;
      end = at;
    }
  return text.substr(begin, end - begin);
}

bool is_line_end(char32_t c) {
  return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

}  // namespace

size_t count_points(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
}

size_t byte_of(std::string_view text, size_t index) {
  size_t at = 0;
  while (index > 0 && at < text.size()) {
    at += utf8_length(text[at]);
    --index;
  }
  return std::min(at, text.size());
}

std::string_view points_between(std::string_view text, size_t begin, size_t end) {
  if (begin >= end) return {};
  const std::string_view rest = text.substr(byte_of(text, begin));
  return rest.substr(0, byte_of(rest, end - begin));
}

std::string every_nth(std::string_view text, int64_t start, int64_t step, int64_t count) {
  std::string out;
  if (count <= 0) return out;
  if (count_points(text) == text.size()) {
    for (int64_t i = 0; i < count; ++i) out += text[start + i * step];
    return out;
  }
  for (size_t at = byte_of(text, start);;) {
    out += text.substr(at, utf8_length(text[at]));
    if (--count == 0) return out;
    if (step > 0)
      at += byte_of(text.substr(at), step);
    else
      for (int64_t i = step; i < 0; ++i) at = before(text, at);
  }
}

size_t find_text(std::string_view text, std::string_view piece, size_t from) {
  if (from > text.size()) return text.npos;
  if (piece.empty()) return from;
  // Two-way search: linear, which std::string_view::find() is not.
  const void* found = memmem(text.data() + from, text.size() - from, piece.data(), piece.size());
  return found == nullptr ? text.npos : static_cast<const char*>(found) - text.data();
}

size_t find_last(std::string_view text, std::string_view piece, Budget* budget) {
  if (piece.empty()) return text.size();
  if (piece.size() > text.size()) return text.npos;
  const size_t last = text.size() - piece.size();
  size_t n_bytes = 0, at = last + 1;
  while (at-- > 0) {
    const std::string_view here = text.substr(at, piece.size());
    if (here.front() != piece.front() || here.back() != piece.back()) continue;
    n_bytes += piece.size();
    if (here == piece) break;
    if (n_bytes >= size_t{1} << 20) count_bytes(budget, std::exchange(n_bytes, 0));
  }
  count_bytes(budget, n_bytes + last - std::min(at, last));
  return at;  // npos where it went past the beginning
}

std::string encode(char32_t point) {
  std::string out;
  append_utf8(point, &out);
  return out;
}

char32_t decode(std::string_view character) { return point_at(character, 0); }

std::string_view strip_space(std::string_view text, Side side) {
  return strip_if(text, side, is_python_space);
}

std::string_view strip_chars(std::string_view text, std::string_view chars, Side side) {
  if (chars.size() < 16)
    return strip_if(text, side, [&](char32_t c) {
      const Characters all = characters_of(chars);
      return std::any_of(all.begin(), all.end(),
                         [&](std::string_view one) { return decode(one) == c; });
    });
  const auto points = std::make_unique<std::bitset<0x110000>>();
  for (const std::string_view one : characters_of(chars)) points->set(decode(one));
  return strip_if(text, side, [&](char32_t c) { return points->test(c); });
}

void split_space(std::string_view text, int64_t most, bool from_right, const TakePiece& take) {
  const Side near = from_right ? Side::kRight : Side::kLeft;
  text = strip_space(text, near);
  for (int64_t n = 0; !text.empty(); ++n) {
    if (most >= 0 && n == most) return take(text);  // with its spaces at the far end
    size_t at = from_right ? text.size() : 0;
    if (from_right) {
      while (at > 0 && !is_python_space(point_at(text, before(text, at)))) at = before(text, at);
      take(text.substr(at));
      text = strip_space(text.substr(0, at), near);
    } else {
      while (at < text.size() && !is_python_space(point_at(text, at))) at += utf8_length(text[at]);
      take(text.substr(0, at));
      text = strip_space(text.substr(at), near);
    }
  }
}

void split_by(std::string_view text, std::string_view separator, int64_t most,
              const TakePiece& take) {
  for (int64_t n = 0; most < 0 || n < most; ++n) {
    const size_t at = find_text(text, separator);
    if (at == text.npos) break;
    take(text.substr(0, at));
    text = text.substr(at + separator.size());
  }
  take(text);
}

void split_from_right(std::string_view text, std::string_view separator, int64_t most,
                      Budget* budget, const TakePiece& take) {
  for (int64_t n = 0; most < 0 || n < most; ++n) {
    const size_t at = find_last(text, separator, budget);
    if (at == text.npos) break;
    take(text.substr(at + separator.size()));
    text = text.substr(0, at);
  }
  take(text);
}

void split_lines(std::string_view text, bool keep_ends, const TakePiece& take) {
  for (size_t begin = 0; begin < text.size();) {
    size_t at = begin;
    while (at < text.size() && !is_line_end(point_at(text, at))) at += utf8_length(text[at]);
    const size_t end = at;
    if (at < text.size()) at += text.substr(at).starts_with("\r\n") ? 2 : utf8_length(text[at]);
    take(text.substr(begin, (keep_ends ? at : end) - begin));
    begin = at;
  }
}

size_t count_of(std::string_view text, std::string_view piece) {
  if (piece.empty()) return count_points(text) + 1;
  size_t n = 0;
  for (size_t at = find_text(text, piece); at != text.npos;
       at = find_text(text, piece, at + piece.size()))
    ++n;
  return n;
}

std::string replace(std::string_view text, std::string_view old, std::string_view by, int64_t most,
                    size_t most_bytes) {
  size_t n = count_of(text, old);
  if (most >= 0) n = std::min(n, static_cast<size_t>(most));
  // A text that grows beyond all limits is cut where its maker checks it.
  if (by.size() > 0 && n > most_bytes / by.size()) return std::string(most_bytes + 1, ' ');
  std::string out;
  out.reserve(text.size() + n * by.size());
  size_t at = 0;
  for (; n > 0; --n) {
    if (old.empty()) {
      out += by;
      if (at >= text.size()) break;
      const size_t length = utf8_length(text[at]);
      out += text.substr(at, length);
      at += length;
      continue;
    }
    const size_t found = find_text(text, old, at);
    out += text.substr(at, found - at);
    out += by;
    at = found + old.size();
  }
  return out += text.substr(std::min(at, text.size()));
}

std::string escape_html(std::string_view text) {
  constexpr size_t kMost = size_t{64} << 20;
  std::string out;
  for (const char c : text) {
    if (out.size() > kMost)
      throw JinjaError{fmt::format("a string is longer than the limit of {} bytes", kMost), 0,
                       true};
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&#34;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace pando::jinja
