#include "text/calls/call_reader.h"

#include <algorithm>

#include "base/json.h"
#include "text/calls/literal.h"

namespace pando::calls {
namespace {

constexpr size_t kLongestName = 128;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-.:/$@~+").find(c) != std::string_view::npos ||
         static_cast<unsigned char>(c) >= 0x80;
}

// A name ends before the text that stands behind it, or before a character that no name has.
Read read_name(Scan& scan, std::string_view behind, std::string& name) {
  scan.skip_space();
  const size_t begin = scan.at;
  for (; !scan.at_end() && scan.at - begin <= kLongestName; ++scan.at) {
    if (!behind.empty() && scan.rest().starts_with(behind)) break;
    if (!is_name_char(scan.next())) break;
  }
  if (scan.at_end()) return scan.ended();
  name = scan.text.substr(begin, scan.at - begin);
  return is_call_name(name) ? Read::kDone : Read::kBroken;
}

Read read_json_arguments(const CallFormat& format, Scan& scan, ReadCall& call) {
  scan.skip_space();
  if (scan.at_end()) return scan.ended();
  const size_t begin = scan.at;
  if (scan.next() != '{') {  // no arguments at all
    const std::string_view end = first_mark(format.call_end);
    if (end.empty()) return Read::kBroken;
    const Read read = scan.take(end);
    call.arguments = "{}";
    return read;
  }
  if (const Read read = skip_json(scan); read != Read::kDone) return read;
  std::optional<std::string> text = object_text(scan.text.substr(begin, scan.at - begin));
  if (!text) return Read::kBroken;
  call.arguments = *std::move(text);
  return Read::kDone;
}

Read read_loose_arguments(const CallFormat& format, Scan& scan, ReadCall& call) {
  CallJson arguments;
  const LiteralStyle style{.quote = format.quote, .bare_keys = true};
  const Read read = read_literal(scan, style, arguments);
  if (read != Read::kDone) return read;
  if (!arguments.is_object()) return Read::kBroken;
  call.arguments = json_text(arguments);
  return Read::kDone;
}

}  // namespace

std::string head_of_object(std::string_view name) {
  return "{\"name\": " + json_text(CallJson(std::string(name)));
}

bool is_call_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName &&
         std::all_of(name.begin(), name.end(), is_name_char);
}

std::string_view first_mark(std::string_view text) {
  text = trimmed(text);
  const size_t space = std::min(text.find_first_of(" \n\t\r"), text.size());
  const size_t close = text.find("><");
  return text.substr(0, std::min(space, close == text.npos ? text.size() : close + 1));
}

Read read_head(const CallFormat& format, Scan& scan, ReadCall& call) {
  for (size_t i = 0; i < format.head.size(); ++i) {
    const HeadPiece& piece = format.head[i];
    const bool is_before_text =
        i + 1 < format.head.size() && format.head[i + 1].kind == HeadPiece::Kind::kText;
    const std::string_view behind =
        is_before_text ? trimmed(format.head[i + 1].text) : std::string_view();
    Read read = Read::kDone;
    std::string found;
    if (piece.kind == HeadPiece::Kind::kText) {
      read = scan.take(piece.text);
    } else {
      read = read_name(scan, behind, found);
      if (read == Read::kDone) (piece.kind == HeadPiece::Kind::kName ? call.name : call.id) = found;
    }
    if (read != Read::kDone) return read;
  }
  if (format.ids_have_names) call.id = "functions." + call.name + ":" + call.id;
  return call.name.empty() ? Read::kBroken : Read::kDone;
}

namespace {

Read read_any_call(const CallFormat& format, const OfferedTools& tools, Scan& scan,
                   ReadCall& call) {
  if (format.body == CallBody::kObject)
    return read_object_call(format, tools, Names::kAny, scan, call);
  if (format.body == CallBody::kPythonic) return read_pythonic_call(tools, Names::kAny, scan, call);
  if (const Read read = read_head(format, scan, call); read != Read::kDone) return read;
  switch (format.body) {
    case CallBody::kParameters:
      return read_parameters(format, tools, scan, call);
    case CallBody::kNested:
      return read_nested(format, tools, scan, call);
    case CallBody::kLoose:
      return read_loose_arguments(format, scan, call);
    default:
      return read_json_arguments(format, scan, call);
  }
}

}  // namespace

Read read_call(const CallFormat& format, const OfferedTools& tools, Scan& scan, ReadCall& call) {
  const Read read = read_any_call(format, tools, scan, call);
  return read == Read::kDone && !tools.may_call(call.name) ? Read::kBroken : read;
}

}  // namespace pando::calls
