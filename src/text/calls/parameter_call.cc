// Arguments that stand between marks, such as <parameter=KEY>VALUE</parameter>.
#include <algorithm>

#include "base/json.h"
#include "text/calls/call_reader.h"

namespace pando::calls {
namespace {

constexpr size_t kLongestKey = 256;
constexpr unsigned kAnyButText = kNumber | kBoolean | kNull | kList | kObject;

// The mark that ends the last argument and the call.
std::string_view end_of_call(const CallFormat& format) {
  const std::string_view end = first_mark(format.call_end);
  return end.empty() ? first_mark(format.section_end) : end;
}

// Done if the call ends here.
Read read_end(const CallFormat& format, Scan& scan) {
  const std::string_view end = end_of_call(format);
  return end.empty() ? Read::kBroken : scan.take(end);
}

// The key, up to the first of two marks that may follow it.
Read read_key(const CallFormat& format, Scan& scan, std::string& key, bool& is_json) {
  const std::string_view begin = trimmed(format.value_begin),
                         json = trimmed(format.json_value_begin);
  const size_t text_at = scan.text.find(begin, scan.at);
  const size_t json_at = json.empty() ? scan.text.npos : scan.text.find(json, scan.at);
  const size_t end = std::min(text_at, json_at);
  if (end == scan.text.npos)
    return scan.text.size() - scan.at > kLongestKey + begin.size() + json.size() ? Read::kBroken
                                                                                 : scan.ended();
  key = trimmed(scan.text.substr(scan.at, end - scan.at));
  if (key.empty() || key.size() > kLongestKey || key.find('\n') != key.npos) return Read::kBroken;
  is_json = json_at < text_at;
  scan.at = end + (is_json ? json : begin).size();
  return Read::kDone;
}

// Done where an argument or the end of the call follows, so a value may hold the mark of its end.
Read read_follower(const CallFormat& format, Scan scan) {
  Scan other = scan;
  const Read end = end_of_call(format).empty() ? Read::kDone : other.take(end_of_call(format));
  if (end == Read::kDone) return end;
  const Read next = scan.take(format.parameter_begin);
  return next == Read::kBroken ? end : next;
}

// The white space that the marks have beside the value is theirs.
std::string_view without_mark_space(const CallFormat& format, std::string_view value) {
  const std::string_view begin = format.value_begin, end = format.parameter_end;
  const std::string_view before = begin.substr(trimmed_right(begin).size());
  const std::string_view behind = end.substr(0, end.size() - trimmed_left(end).size());
  if (value.starts_with(before)) value.remove_prefix(before.size());
  if (value.ends_with(behind)) value.remove_suffix(behind.size());
  return value;
}

Read read_value(const CallFormat& format, Scan& scan, std::string_view& value) {
  const std::string_view end = trimmed(format.parameter_end);
  for (size_t from = scan.at;; ++from) {
    from = scan.text.find(end, from);
    if (from == scan.text.npos) return scan.ended();
    Scan behind = scan;
    behind.at = from + end.size();
    const Read read = read_follower(format, behind);
    if (read == Read::kMore) return read;
    if (read == Read::kBroken) continue;
    value = without_mark_space(format, scan.text.substr(scan.at, from - scan.at));
    scan.at = behind.at;
    return Read::kDone;
  }
}

// An argument whose value may hold others.
struct Node {
  std::string key;
  std::string_view text;
  std::vector<Node> children;
};

Read read_node(const CallFormat& format, Scan& scan, Node& node, int depth) {
  if (depth > kDeepestArguments) return Read::kBroken;
  if (const Read read = scan.take(format.parameter_begin); read != Read::kDone) return read;
  bool is_json = false;
  if (const Read read = read_key(format, scan, node.key, is_json); read != Read::kDone) return read;
  const std::string close = std::string(trimmed(format.parameter_end)) + node.key +
                            std::string(trimmed(format.value_begin));
  const std::string_view open = trimmed(format.parameter_begin);
  const size_t begin = scan.at;
  scan.at = std::min(scan.text.find(open, scan.at), scan.text.size());
  while (!scan.at_end()) {
    const size_t mark = scan.at;
    if (const Read read = scan.take(close); read != Read::kBroken) {
      if (read == Read::kDone && node.children.empty())
        node.text = scan.text.substr(begin, mark - begin);
      return read;
    }
    Node child;
    if (const Read read = read_node(format, scan, child, depth + 1); read != Read::kDone)
      return read;
    node.children.push_back(std::move(child));
    scan.skip_space();
  }
  return scan.ended();
}

CallJson value_of_node(const Node& node, const CallJson* schema, const CallJson* root) {
  const unsigned types = types_of(schema, root);
  if (node.children.empty()) {
    const bool is_blank = trimmed(node.text).empty();
    if (is_blank && types == kList) return CallJson::array();
    if (is_blank && types == kObject) return CallJson::object();
    return typed_value(node.text, types);
  }
  const bool has_items = std::all_of(node.children.begin(), node.children.end(),
                                     [](const Node& child) { return child.key == "item"; });
  if (has_items && (types & kObject) == 0) {
    CallJson list = CallJson::array();
    for (const Node& child : node.children)
      list.push_back(value_of_node(child, item_schema(schema, root), root));
    return list;
  }
  CallJson object = CallJson::object();
  for (const Node& child : node.children)
    object[child.key] = value_of_node(child, member_schema(schema, child.key, root), root);
  return object;
}

}  // namespace

Read read_parameters(const CallFormat& format, const OfferedTools& tools, Scan& scan,
                     ReadCall& call) {
  CallJson arguments = CallJson::object();
  while (true) {
    const Read end = read_end(format, scan);
    if (end == Read::kDone) break;
    if (end == Read::kMore) return end;
    const Read begin = scan.take(format.parameter_begin);
    if (begin == Read::kBroken && end_of_call(format).empty()) break;
    if (begin != Read::kDone) return begin;
    std::string key;
    bool is_json = false;
    std::string_view value;
    if (const Read read = read_key(format, scan, key, is_json); read != Read::kDone) return read;
    if (const Read read = read_value(format, scan, value); read != Read::kDone) return read;
    if (is_json)
      arguments[key] = typed_value(value, kAnyButText);
    else if (!format.json_value_begin.empty())
      arguments[key] = std::string(value);
    else
      arguments[key] = tools.value_of(call.name, key, value);
  }
  call.arguments = json_text(arguments);
  return Read::kDone;
}

Read read_nested(const CallFormat& format, const OfferedTools& tools, Scan& scan, ReadCall& call) {
  CallJson arguments = CallJson::object();
  while (true) {
    const Read end = read_end(format, scan);
    if (end == Read::kDone) break;
    if (end == Read::kMore) return end;
    Node node;
    if (const Read read = read_node(format, scan, node, 0); read != Read::kDone) return read;
    arguments[node.key] =
        value_of_node(node, tools.schema_of(call.name, node.key), tools.root_of(call.name));
  }
  call.arguments = json_text(arguments);
  return Read::kDone;
}

}  // namespace pando::calls
