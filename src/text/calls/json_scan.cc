#include "text/calls/json_scan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"

namespace pando::calls {
namespace {

Read skip_string(Scan& scan) {
  for (++scan.at; !scan.at_end(); ++scan.at) {
    if (scan.next() == '"') {
      ++scan.at;
      return Read::kDone;
    }
    if (scan.next() == '\\' && ++scan.at == scan.text.size()) break;
  }
  return scan.ended();
}

Read skip_word(Scan& scan) {
  for (const std::string_view word : {"true", "false", "null"}) {
    const std::string_view found = scan.rest().substr(0, word.size());
    if (!word.starts_with(found)) continue;
    if (found != word) return scan.ended();
    scan.at += word.size();
    return Read::kDone;
  }
  return Read::kBroken;
}

Read skip_number(Scan& scan) {
  const size_t begin = scan.at;
  const auto is_of_number = [](char c) {
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
  };
  while (!scan.at_end() && is_of_number(scan.next())) ++scan.at;
  if (scan.at == begin) return Read::kBroken;
  return scan.at_end() && !scan.is_final ? Read::kMore : Read::kDone;
}

// Goes behind the elements of a list or an object up to `close`, which is behind the first of them.
template <class Element>
Read skip_elements(Scan& scan, char close, const Element& element) {
  ++scan.at;
  scan.skip_space();
  if (scan.at_end()) return scan.ended();
  if (scan.next() == close) {
    ++scan.at;
    return Read::kDone;
  }
  while (true) {
    if (const Read read = element(); read != Read::kDone) return read;
    scan.skip_space();
    if (scan.at_end()) return scan.ended();
    const char c = scan.text[scan.at++];
    if (c == close) return Read::kDone;
    if (c != ',') return Read::kBroken;
  }
}

template <class Take>
Read skip_object(Scan& scan, int depth, const Take& take) {
  return skip_elements(scan, '}', [&] {
    scan.skip_space();
    if (scan.at_end()) return scan.ended();
    if (scan.next() != '"') return Read::kBroken;
    const size_t key = scan.at;
    if (const Read read = skip_string(scan); read != Read::kDone) return read;
    const std::string_view key_text = scan.text.substr(key, scan.at - key);
    if (const Read read = scan.take(':'); read != Read::kDone) return read;
    take(key_text, std::string_view());
    scan.skip_space();
    const size_t value = scan.at;
    if (const Read read = skip_json(scan, depth + 1); read != Read::kDone) return read;
    take(key_text, scan.text.substr(value, scan.at - value));
    return Read::kDone;
  });
}

std::string with_escapes(std::string_view text) {
  std::string out;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\' && i + 1 < text.size()) {
      out += c;
      out += text[++i];
      continue;
    }
    if (c == '"') in_string = !in_string;
    if (in_string && static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out;
}

// A value in which keys repeat: the last member of a key counts. Nothing if it is no JSON.
std::optional<CallJson> value_with_repeats(std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with('{') && !text.starts_with('[')) {
    Result<CallJson> parsed = parse_json(text, LargeNumbers::kKept);
    return parsed ? std::optional(*std::move(parsed)) : std::nullopt;
  }
  const bool is_object = text.starts_with('{');
  CallJson all = is_object ? CallJson::object() : CallJson::array();
  Scan scan{.text = text, .is_final = true};
  bool is_valid = true;
  const auto add = [&](std::string_view key, std::string_view value) {
    if (!is_valid || value.empty()) return;
    const Result<CallJson> name = parse_json(key);
    std::optional<CallJson> read = value_with_repeats(value);
    is_valid = name && read;
    if (is_valid) all[name->get_ref<const std::string&>()] = *std::move(read);
  };
  const auto add_item = [&] {
    const size_t begin = scan.at;
    if (const Read read = skip_json(scan, 1); read != Read::kDone) return read;
    std::optional<CallJson> read = value_with_repeats(text.substr(begin, scan.at - begin));
    if (!read) return Read::kBroken;
    all.push_back(*std::move(read));
    return Read::kDone;
  };
  const Read read = is_object ? skip_object(scan, 0, add) : skip_elements(scan, ']', add_item);
  if (read != Read::kDone || !is_valid || scan.at != text.size()) return std::nullopt;
  return all;
}

}  // namespace

Read skip_json(Scan& scan, int depth) {
  scan.skip_space();
  if (scan.at_end()) return scan.ended();
  if (depth > kDeepestArguments) return Read::kBroken;
  switch (scan.next()) {
    case '{':
      return skip_object(scan, depth, [](std::string_view, std::string_view) {});
    case '[':
      return skip_elements(scan, ']', [&] { return skip_json(scan, depth + 1); });
    case '"':
      return skip_string(scan);
    case 't':
    case 'f':
    case 'n':
      return skip_word(scan);
    default:
      return skip_number(scan);
  }
}

Read read_members(Scan& scan, std::vector<Member>& members) {
  scan.skip_space();
  if (scan.at_end()) return scan.ended();
  if (scan.next() != '{') return Read::kBroken;
  return skip_object(scan, 0, [&](std::string_view key, std::string_view value) {
    if (!value.empty()) {
      members.back().value = value;
      return;
    }
    const std::optional<CallJson> parsed = parse_value(key);
    members.push_back(
        {parsed && parsed->is_string() ? parsed->get<std::string>() : std::string(), {}});
  });
}

std::optional<CallJson> parse_value(std::string_view text) {
  Result<CallJson> parsed = parse_json(text, LargeNumbers::kKept);
  if (parsed) return *std::move(parsed);
  const std::string escaped = with_escapes(text);
  parsed = parse_json(escaped, LargeNumbers::kKept);
  return parsed ? std::optional(*std::move(parsed)) : value_with_repeats(escaped);
}

std::optional<std::string> object_text(std::string_view text) {
  for (const std::string& form : {std::string(text), with_escapes(text)})
    if (const Result<CallJson> parsed = parse_json(form, LargeNumbers::kKept);
        parsed && parsed->is_object())
      return form;
  const std::optional<CallJson> value = value_with_repeats(with_escapes(text));
  return value && value->is_object() ? std::optional(json_text(*value)) : std::nullopt;
}

}  // namespace pando::calls
