#include <algorithm>

#include "base/errors.h"
#include "text/calls/call_reader.h"

namespace pando::calls {
namespace {

// Keys that models write, whatever their template writes.
constexpr std::string_view kNameKeys[] = {"name", "function", "tool_name", "tool", "function_name"};
constexpr std::string_view kArgumentKeys[] = {"arguments", "parameters", "args",
                                              "params",    "input",      "tool_input"};
constexpr std::string_view kIdKeys[] = {"id", "tool_call_id", "call_id"};
constexpr std::string_view kWrappers[] = {"function", "tool_call", "function_call"};

template <size_t n>
bool is_one_of(std::string_view key, const std::string_view (&keys)[n]) {
  return std::find(std::begin(keys), std::end(keys), key) != std::end(keys);
}

// Text of the arguments' object, which may stand in a string; nothing if it is no object.
std::optional<std::string> arguments_of(std::string_view value) {
  if (value == "null") return "{}";
  if (!value.starts_with('"')) return object_text(value);
  const std::optional<CallJson> text = parse_value(value);
  if (!text || !text->is_string()) return std::nullopt;
  const std::string_view inner = trimmed(text->get_ref<const std::string&>());
  return inner.empty() ? "{}" : object_text(inner);
}

std::optional<std::string> string_of(std::string_view value) {
  if (!value.starts_with('"')) return std::nullopt;
  const std::optional<CallJson> text = parse_value(value);
  if (!text || !text->is_string()) return std::nullopt;
  return text->get<std::string>();
}

// The members of a call's object, put together.
class ObjectCall {
 public:
  ObjectCall(const CallFormat& format, const OfferedTools& tools, Names names)
      : format_(format), tools_(tools), names_(names) {}

  // False if an object with this member is no call. An empty value is one that has not ended.
  bool add(const Member& member);
  // False if something is missing.
  bool finish(ReadCall& call);

 private:
  bool add_name(std::string name) {
    if (names_ == Names::kOffered ? !tools_.has(name) : !is_call_name(name)) return false;
    call_.name = std::move(name);
    return true;
  }
  bool add_wrapped(std::string_view value) {
    Scan scan{.text = value, .is_final = true};
    return read_object_call(format_, tools_, names_, scan, call_) == Read::kDone;
  }
  bool add_arguments(std::string_view value) {
    if (value.empty()) return true;
    std::optional<std::string> text = arguments_of(value);
    if (!text) return false;
    call_.arguments = *std::move(text);
    return true;
  }

  const CallFormat& format_;
  const OfferedTools& tools_;
  const Names names_;
  ReadCall call_;
};

bool ObjectCall::add(const Member& member) {
  const std::string_view key = member.key, value = member.value;
  if (format_.is_known && format_.body == CallBody::kObject && format_.name_key.empty())
    return call_.name.empty() && add_name(member.key) && add_arguments(value);
  const bool is_wrapper =
      is_one_of(key, kWrappers) || (!format_.wrappers.empty() && format_.wrappers.front() == key);
  if (is_wrapper && value.starts_with('{')) return add_wrapped(value);
  if (key == format_.arguments_key || is_one_of(key, kArgumentKeys)) return add_arguments(value);
  if (key == format_.name_key || is_one_of(key, kNameKeys)) {
    if (value.empty()) return true;
    std::optional<std::string> name = string_of(value);
    return name && add_name(*std::move(name));
  }
  if (key == format_.id_key || is_one_of(key, kIdKeys)) {
    if (const std::optional<std::string> id = string_of(value)) call_.id = *id;
    return true;
  }
  return is_wrapper || key == "type" || names_ == Names::kAny;
}

bool ObjectCall::finish(ReadCall& call) {
  if (call_.name.empty()) return false;
  if (call_.arguments.empty()) {
    if (names_ == Names::kOffered) return false;
    call_.arguments = "{}";
  }
  call = std::move(call_);
  return true;
}

}  // namespace

Read read_object_call(const CallFormat& format, const OfferedTools& tools, Names names, Scan& scan,
                      ReadCall& call) {
  Scan reading = scan;
  reading.skip_space();
  // Qwen2.5-Coder's template shows calls with doubled braces, and the models copy them.
  const bool is_doubled = reading.rest().starts_with("{{");
  if (is_doubled) ++reading.at;
  std::vector<Member> members;
  const Read read = read_members(reading, members);
  if (read == Read::kBroken) return read;
  ObjectCall object(format, tools, names);
  for (const Member& member : members)
    if (!object.add(member)) return Read::kBroken;
  if (read == Read::kMore) return read;
  if (is_doubled && reading.take('}') == Read::kMore) return Read::kMore;
  if (!object.finish(call)) return Read::kBroken;
  scan = reading;
  return Read::kDone;
}

}  // namespace pando::calls
