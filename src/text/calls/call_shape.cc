#include "text/calls/call_shape.h"

#include <algorithm>
#include <utility>

#include "text/calls/atoms.h"
#include "text/calls/scan.h"

namespace pando::calls {
namespace {

constexpr std::string_view kKeys[] = {"akey_one", "bkey_two", "ckey_three"};
constexpr std::string_view kValues[] = {"Amber stone", "Cobalt glass", "41753"};

struct Place {
  size_t begin, end;
};

// The JSON object that begins at a '{'; nothing if there is none.
std::optional<Place> object_at(std::string_view text, size_t at, CallJson& value) {
  Scan scan{.text = text, .at = at, .is_final = true};
  if (skip_json(scan) != Read::kDone) return std::nullopt;
  std::optional<CallJson> parsed = parse_value(text.substr(at, scan.at - at));
  if (!parsed) return std::nullopt;
  value = *std::move(parsed);
  return Place{at, scan.at};
}

std::optional<Place> find_arguments(std::string_view text, size_t from, const CallJson& arguments) {
  const size_t key = text.find("\"" + std::string(kKeys[0]) + "\"", from);
  if (key == text.npos) return std::nullopt;
  for (size_t at = text.rfind('{', key); at != text.npos && at >= from;
       at = at == 0 ? text.npos : text.rfind('{', at - 1)) {
    CallJson value;
    const std::optional<Place> place = object_at(text, at, value);
    if (place && value == arguments) return place;
  }
  return std::nullopt;
}

// True for the arguments as an object, or as JSON in a string.
bool is_arguments(const CallJson& value, const CallJson& arguments) {
  if (!value.is_string()) return value == arguments;
  const std::optional<CallJson> parsed = parse_value(value.get_ref<const std::string&>());
  return parsed && *parsed == arguments;
}

// Sets wrappers and keys of a call's object. False if it is none.
bool set_keys(const CallJson& object, const TrialCall& call, CallFormat& format) {
  format.name_key.clear();
  format.arguments_key.clear();
  for (const auto& [key, value] : object.items()) {
    if (value == call.name) format.name_key = key;
    if (!call.id.empty() && value == call.id) format.id_key = key;
    if (is_arguments(value, call.arguments)) format.arguments_key = key;
  }
  if (format.arguments_key == call.name) return object.size() == 1;
  if (!format.name_key.empty()) return !format.arguments_key.empty();
  for (const auto& [key, value] : object.items()) {
    if (!value.is_object() || !set_keys(value, call, format)) continue;
    format.wrappers.insert(format.wrappers.begin(), key);
    return true;
  }
  return false;
}

std::optional<CallShape> find_object(std::string_view text, size_t from, const Place& arguments,
                                     const TrialCall& call) {
  if (arguments.begin == 0) return std::nullopt;
  std::optional<CallShape> outermost;
  for (size_t at = text.rfind('{', arguments.begin - 1); at != text.npos && at >= from;
       at = at == 0 ? text.npos : text.rfind('{', at - 1)) {
    CallShape shape;
    CallJson value;
    const std::optional<Place> place = object_at(text, at, value);
    if (!place || place->end < arguments.end || !set_keys(value, call, shape.format)) continue;
    shape.begin = place->begin;
    shape.end = place->end;
    outermost = shape;
  }
  return outermost;
}

// Makes the head of what stands from the first name, or an id before it, to the arguments.
bool set_head(std::string_view text, size_t from, size_t arguments, const TrialCall& call,
              CallShape& shape) {
  const auto next = [&](std::string_view of, size_t at) {
    const size_t found = of.empty() ? text.npos : text.find(of, at);
    return found < arguments ? found : text.npos;
  };
  shape.begin = std::min(next(call.name, from), next(call.id, from));
  if (shape.begin == text.npos || next(call.name, from) == text.npos) return false;
  for (size_t at = shape.begin; at < arguments;) {
    const size_t name = next(call.name, at), id = next(call.id, at);
    const size_t anchor = std::min({name, id, arguments});
    if (anchor > at)
      shape.format.head.push_back(
          {HeadPiece::Kind::kText, std::string(text.substr(at, anchor - at))});
    if (anchor == arguments) break;
    shape.format.head.push_back({name < id ? HeadPiece::Kind::kName : HeadPiece::Kind::kId});
    at = anchor + (name < id ? call.name : call.id).size();
  }
  return true;
}

// The texts around keys and values that are not written as JSON.
struct Gaps {
  size_t keys = 0;          // the first key begins here
  std::string_view before;  // between the name and the first key
  std::string_view key_to_value, key_to_number;
  std::string_view value_to_key;
  std::string_view behind;  // the last value
};

std::optional<Gaps> find_gaps(std::string_view text, size_t from, const TrialCall& call) {
  size_t keys[3], values[3];
  size_t at = from;
  for (int i = 0; i < 3; ++i) {
    keys[i] = text.find(kKeys[i], at);
    if (keys[i] == text.npos) return std::nullopt;
    values[i] = text.find(kValues[i], keys[i]);
    if (values[i] == text.npos) return std::nullopt;
    at = values[i] + kValues[i].size();
  }
  const size_t name = text.rfind(call.name, keys[0]);
  if (name == text.npos || name < from) return std::nullopt;
  const auto between = [&](size_t begin, size_t end) { return text.substr(begin, end - begin); };
  Gaps gaps;
  gaps.keys = keys[0];
  gaps.before = between(name + call.name.size(), keys[0]);
  gaps.key_to_value = between(keys[0] + kKeys[0].size(), values[0]);
  gaps.key_to_number = between(keys[2] + kKeys[2].size(), values[2]);
  gaps.value_to_key = between(values[0] + kValues[0].size(), keys[1]);
  gaps.behind = text.substr(at);
  return gaps;
}

// NAME(KEY='VALUE', ...)
bool set_pythonic(const Gaps& gaps, CallShape& shape) {
  if (trimmed(gaps.before) != "(" || !trimmed(gaps.key_to_value).starts_with('=')) return false;
  const size_t close = gaps.behind.find(')');
  if (close == gaps.behind.npos) return false;
  shape.format.body = CallBody::kPythonic;
  shape.end += close + 1;
  return true;
}

// NAME{KEY:"VALUE", ...} with quotes of its own
bool set_loose(const Gaps& gaps, CallShape& shape) {
  const std::string_view before = trimmed(gaps.before), colon = trimmed(gaps.key_to_value);
  const size_t close = gaps.behind.find('}');
  if (!before.ends_with('{') || !colon.starts_with(':') || close == gaps.behind.npos) return false;
  shape.format.body = CallBody::kLoose;
  shape.format.quote = trimmed(colon.substr(1));
  shape.end += close + 1;
  std::string& text = shape.format.head.back().text;  // the object begins with its '{'
  text.resize(text.rfind('{'));
  if (text.empty()) shape.format.head.pop_back();
  return true;
}

// Marks whose ends repeat the key: <KEY>VALUE</KEY>
bool set_nested(const Gaps& gaps, CallShape& shape) {
  const size_t key = gaps.value_to_key.find(kKeys[0]);
  if (key == gaps.value_to_key.npos) return false;
  CallFormat& format = shape.format;
  format.body = CallBody::kNested;
  format.value_begin = gaps.key_to_value;
  format.parameter_end = gaps.value_to_key.substr(0, key);
  const std::string_view behind = gaps.value_to_key.substr(key + kKeys[0].size());
  if (trimmed(format.value_begin).empty() || !behind.starts_with(format.value_begin)) return false;
  format.parameter_begin = behind.substr(format.value_begin.size());
  const std::string close =
      format.parameter_end + std::string(kKeys[2]) + std::string(format.value_begin);
  if (!gaps.behind.starts_with(close)) return false;
  shape.end += close.size();
  return true;
}

bool set_parameters(const Gaps& gaps, CallShape& shape) {
  CallFormat& format = shape.format;
  format.body = CallBody::kParameters;
  format.parameter_begin = common_end(gaps.before, gaps.value_to_key);
  std::string_view end = gaps.value_to_key;
  end.remove_suffix(format.parameter_begin.size());
  format.parameter_end = common_begin(end, gaps.behind);
  format.value_begin = gaps.key_to_value;
  if (gaps.key_to_number != gaps.key_to_value) format.json_value_begin = gaps.key_to_number;
  for (const std::string* mark :
       {&format.parameter_begin, &format.parameter_end, &format.value_begin})
    if (trimmed(*mark).empty()) return false;
  shape.end += format.parameter_end.size();
  return true;
}

// The last text of the head goes up to the first key. Its end is of the parameter's mark.
void cut_head(CallShape& shape) {
  std::vector<HeadPiece>& head = shape.format.head;
  if (head.empty() || head.back().kind != HeadPiece::Kind::kText) return;
  std::string& text = head.back().text;
  if (text.ends_with(shape.format.parameter_begin))
    text.resize(text.size() - shape.format.parameter_begin.size());
  if (text.empty()) head.pop_back();
}

}  // namespace

CallJson trial_arguments() {
  return {{kKeys[0], kValues[0]}, {kKeys[1], kValues[1]}, {kKeys[2], 41753}};
}

std::optional<CallShape> find_call(std::string_view text, size_t from, const TrialCall& call) {
  CallShape shape;
  if (const std::optional<Place> arguments = find_arguments(text, from, call.arguments)) {
    if (auto object = find_object(text, from, *arguments, call)) return object;
    shape.format.body = CallBody::kJson;
    if (!set_head(text, from, arguments->begin, call, shape)) return std::nullopt;
    shape.end = arguments->end;
    return shape;
  }
  if (const size_t key = text.find("\\\"" + std::string(kKeys[0]) + "\\\"", from); key != text.npos)
    if (auto object = find_object(text, from, {key, key}, call)) return object;
  const std::optional<Gaps> gaps = find_gaps(text, from, call);
  if (!gaps || !set_head(text, from, gaps->keys, call, shape)) return std::nullopt;
  shape.end = text.size() - gaps->behind.size();
  if (set_pythonic(*gaps, shape)) {
    shape.format.head.clear();
    return shape;
  }
  if (set_loose(*gaps, shape)) return shape;
  if (!set_nested(*gaps, shape) && !set_parameters(*gaps, shape)) return std::nullopt;
  cut_head(shape);
  return shape;
}

}  // namespace pando::calls
