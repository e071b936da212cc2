#include "base/json.h"
#include "text/calls/call_reader.h"
#include "text/calls/literal.h"

namespace pando::calls {
namespace {

Read read_python_name(Scan& scan, std::string& name) {
  scan.skip_space();
  const size_t begin = scan.at;
  if (!scan.at_end() && scan.next() >= '0' && scan.next() <= '9') return Read::kBroken;
  while (!scan.at_end() && scan.next() != '(' && scan.next() != '=' && !is_space(scan.next()))
    ++scan.at;
  name = scan.text.substr(begin, scan.at - begin);
  if (!name.empty() && !is_call_name(name)) return Read::kBroken;
  if (scan.at_end()) return scan.ended();
  return name.empty() ? Read::kBroken : Read::kDone;
}

}  // namespace

Read read_pythonic_call(const OfferedTools& tools, Names names, Scan& scan, ReadCall& call) {
  if (const Read read = read_python_name(scan, call.name); read != Read::kDone) return read;
  if (names == Names::kOffered && !tools.has(call.name)) return Read::kBroken;
  if (const Read read = scan.take('('); read != Read::kDone) return read;
  CallJson arguments = CallJson::object();
  while (true) {
    scan.skip_space();
    if (scan.at_end()) return scan.ended();
    if (scan.next() == ')') break;
    std::string key;
    if (const Read read = read_python_name(scan, key); read != Read::kDone) return read;
    if (const Read read = scan.take('='); read != Read::kDone) return read;
    CallJson value;
    if (const Read read = read_literal(scan, {.in_call = true}, value); read != Read::kDone)
      return read;
    arguments[key] = std::move(value);
    scan.skip_space();
    if (scan.at_end()) return scan.ended();
    if (scan.next() == ',')
      ++scan.at;
    else if (scan.next() != ')')
      return Read::kBroken;
  }
  ++scan.at;
  call.arguments = json_text(arguments);
  return Read::kDone;
}

}  // namespace pando::calls
