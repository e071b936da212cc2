#include "text/grammar/schema_document.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_value.h"
#include "base/nearest.h"
#include "text/grammar/formats.h"
#include "text/grammar/limits.h"
#include "text/utf8.h"

namespace pando::grammar {

namespace {

// Take as long as a step of a schema.
constexpr size_t kAutomatonSteps = 128;
constexpr size_t kValuesPerStep = 32;  // that a search passes

// The value as written, cut short.
std::string shown(const Json& value) {
  constexpr size_t kMostBytes = 60;
  std::string text = json_text(value);
  if (text.size() <= kMostBytes) return text;
  size_t n = kMostBytes;
  while (!begins_character(text[n])) --n;
  text.resize(n);
  return text + "...";
}

// The values in a tree.
size_t n_values(const Json& value) {
  size_t n = 1;
  if (value.is_structured())
    for (const Json& one : value) n += n_values(one);
  return n;
}

// The name of a member as it stands in a JSON pointer.
std::string in_pointer(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c == '~' || c == '/')
      out += c == '~' ? "~0" : "~1";
    else
      out += c;
  return out;
}

// True if the value is in the tree; its place is then appended to `path`.
bool find_path(const Json* value, const Json& tree, std::string* path) {
  if (value == &tree) return true;
  const size_t n = path->size();
  if (tree.is_object())
    for (const auto& [name, one] : tree.items()) {
      path->append("/").append(in_pointer(name));
      if (find_path(value, one, path)) return true;
      path->resize(n);
    }
  if (tree.is_array())
    for (size_t i = 0; i < tree.size(); ++i) {
      path->append("/").append(std::to_string(i));
      if (find_path(value, tree[i], path)) return true;
      path->resize(n);
    }
  return false;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char small = static_cast<char>(c | 0x20);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

// The names in a reference's JSON pointer (RFC 6901), which begins with "#/". Nothing if it is
// malformed.
std::optional<std::vector<std::string>> names_of_pointer(std::string_view reference) {
  std::string pointer;
  for (size_t i = 1; i < reference.size(); ++i) {
    if (reference[i] != '%') {
      pointer += reference[i];
      continue;
    }
    const int high = i + 2 < reference.size() ? hex_digit(reference[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(reference[i + 2]) : -1;
    if (low < 0) return std::nullopt;
    pointer += static_cast<char>(high * 16 + low);
    i += 2;
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      names.emplace_back();
    } else if (pointer[i] != '~') {
      names.back() += pointer[i];
    } else {
      const char code = ++i < pointer.size() ? pointer[i] : '\0';
      if (code != '0' && code != '1') return std::nullopt;
      names.back() += code == '0' ? '~' : '/';
    }
  }
  return names;
}

// An element of a list, by its index in a JSON pointer. Null if there is none.
Node element_at(const Json& list, const std::string& name) {
  const bool is_index = !name.empty() && name.size() < 9 && (name == "0" || name[0] != '0') &&
                        name.find_first_not_of("0123456789") == name.npos;
  const size_t index = is_index ? std::stoul(name) : list.size();
  return index < list.size() ? &list[index] : nullptr;
}

Status check_size(size_t n_bytes) {
  if (n_bytes <= kMostTextBytes) return {};
  return unsupported("the schema has {} bytes, expected at most {}", n_bytes, kMostTextBytes);
}

}  // namespace

Node SchemaDocument::find(Node schema, std::string_view name) {
  if (!schema->is_object()) return nullptr;
  const auto found = schema->find(name);
  return found == schema->end() ? nullptr : &*found;
}

Result<std::unique_ptr<SchemaDocument>> SchemaDocument::parse(std::string_view text) {
  if (Status status = check_size(text.size()); !status) return status.error();
  auto parsed = parse_json(text, LargeNumbers::kKept);
  if (!parsed)
    return in_file("schema", with_code(ErrorCode::kInvalidArgument, std::move(parsed).error()));
  return of(*std::move(parsed));
}

Result<std::unique_ptr<SchemaDocument>> SchemaDocument::of(const JsonValue& schema) {
  if (Status status = pando::check(schema); !status) return in_file("schema", status.error());
  Json root = tree_of(schema);
  if (Status status = check_size(json_text(root).size()); !status) return status.error();
  return of(std::move(root));
}

Result<std::unique_ptr<SchemaDocument>> SchemaDocument::of(Json root) {
  std::unique_ptr<SchemaDocument> document(new SchemaDocument);
  document->root_ = std::move(root);
  document->work_left_ = kMostSchemaWork;
  if (!is_schema(document->root_))
    return invalid_argument("the schema is of type '{}', expected an object, true or false",
                            document->root_.type_name());
  if (const std::string place = place_of_schema(document->root_); !place.empty())
    return invalid_argument(
        "schema: the object is not a schema; its field '{}' holds one, expected only the schema",
        place);
  if (const Node dialect = find(document->root(), "$schema")) {
    if (!dialect->is_string())
      return invalid_argument("schema: '$schema' is {}, expected a string", shown(*dialect));
    const auto& name = dialect->get_ref<const std::string&>();
    if (name.find("//json-schema.org/") == name.npos)
      return unsupported(
          "schema: '$schema' '{}' is not supported, expected a dialect of json-schema.org", name);
    if (name.find("draft-03") != name.npos)
      return unsupported("schema: '$schema' '{}' is not supported, expected draft 4 or later",
                         name);
    for (const std::string_view old : {"draft-04", "draft-06", "draft-07"})
      if (name.find(old) != name.npos) document->is_draft_7_ = true;
    document->is_draft_4_ = name.find("draft-04") != name.npos;
  }
  for (const char* key : {"$id", "id"})
    if (const Node id = find(document->root(), key); id != nullptr && id->is_string())
      document->root_id_ = id->get<std::string>();
  while (!document->root_id_.empty() && document->root_id_.back() == '#')
    document->root_id_.pop_back();
  document->index(document->root());
  return document;
}

// Finds anchors, and schemas that have an "$id" of their own.
void SchemaDocument::index(Node schema) {
  if (schema->is_array()) {
    for (const Json& one : *schema) index(&one);
    return;
  }
  if (!schema->is_object()) return;
  for (const auto& [name, value] : schema->items()) {
    if (name == "$anchor" && value.is_string())
      anchors_[std::string("#").append(value.get<std::string>())] = schema;
    if (name == "$id" && value.is_string()) {
      const auto& id = value.get_ref<const std::string&>();
      if (id.starts_with("#"))
        anchors_[id] = schema;
      else if (schema != &root_)
        has_inner_ids_ = true;
    }
    if (holds_schemas(name)) index(&value);
    if (holds_named_schemas(name) && value.is_object())
      for (const auto& [key, one] : value.items()) index(&one);
  }
}

Node SchemaDocument::target_of(Node schema, const Json& reference) {
  if (!reference.is_string()) {
    fault(schema, "'$ref' is {}, expected a string", shown(reference));
    return nullptr;
  }
  std::string_view to = reference.get_ref<const std::string&>();
  if (has_inner_ids_) {
    refuse(schema, "'$ref' '{}' in a document whose inner schemas have an '$id'", to);
    return nullptr;
  }
  if (!root_id_.empty() && to.starts_with(root_id_) &&
      (to.size() == root_id_.size() || to[root_id_.size()] == '#'))
    to.remove_prefix(root_id_.size());
  if (to.empty() || to == "#") return &root_;
  if (!to.starts_with("#")) {
    refuse(schema, "'$ref' '{}' to another document", to);
    return nullptr;
  }
  if (!to.starts_with("#/")) {
    const auto found = anchors_.find(std::string(to));
    if (found != anchors_.end()) return found->second;
    fault(schema, "'$ref' '{}' is not in the document", to);
    return nullptr;
  }
  return target_at(schema, to);
}

// `to` begins with "#/".
Node SchemaDocument::target_at(Node schema, std::string_view to) {
  const auto names = names_of_pointer(to);
  if (!names) {
    fault(schema, "'$ref' '{}' is not a JSON pointer", to);
    return nullptr;
  }
  Node at = &root_;
  // The kind of the place by the dialect. Below an unknown keyword, anything may be a schema.
  enum class Place { kSchema, kNamedSchemas, kUnknown } place = Place::kSchema;
  for (const std::string& name : *names) {
    if (place == Place::kNamedSchemas)
      place = Place::kSchema;
    else if (place == Place::kSchema && !at->is_array())
      place = holds_named_schemas(name) ? Place::kNamedSchemas
              : holds_schemas(name)     ? Place::kSchema
                                        : Place::kUnknown;
    at = at->is_array() ? element_at(*at, name) : find(at, name);
    if (at == nullptr) {
      fault(schema, "'$ref' '{}' is not in the document", to);
      return nullptr;
    }
  }
  if (place != Place::kNamedSchemas) return at;
  fault(schema, "'$ref' '{}' leads to an object of schemas, expected one schema", to);
  return nullptr;
}

void SchemaDocument::check(Node schema) {
  if (has_failed() || checked_.contains(schema)) return;
  if (!is_schema(*schema))
    return fault(schema, "found {}, expected a schema: an object, true or false", shown(*schema));
  if (schema->is_boolean()) return;
  for (const auto& [name, value] : schema->items()) {
    work();
    if (is_refused(name)) return refuse(schema, "'{}'", name);
    if (name == "contains" && is_draft_4_) return refuse(schema, "'contains' in draft 4");
    if (const std::string_view expected = expected_of(name, value); !expected.empty())
      return fault(schema, "'{}' is {}, expected {}", name, shown(value), expected);
    if (name == "format" ? !is_known_format(value.get_ref<const std::string&>())
                         : !is_keyword(name))
      keep_unknown(name, value);
  }
  if (!has_failed()) checked_.insert(schema);  // a refusal may be forgiven, and is met again
}

void SchemaDocument::keep_unknown(const std::string& name, const Json& value) {
  constexpr size_t kMostUnknown = 64;
  const bool is_known = std::ranges::any_of(unknown_, [&](const auto& one) {
    return one.first == name && (name != "format" || *one.second == value);
  });
  if (!is_known && unknown_.size() < kMostUnknown) unknown_.emplace_back(name, &value);
}

std::vector<std::string> SchemaDocument::warnings() {
  constexpr size_t kMostTold = 8;
  std::vector<std::string> all;
  if (!has_keyword(root_))
    all.emplace_back("the schema has no keyword that constrains the answer: any JSON fits it");
  for (const auto& [name, value] : unknown_) {
    const bool is_format = name == "format";
    const std::string hint =
        is_format ? nearest_hint(value->get_ref<const std::string&>(), format_names())
                  : keyword_hint(name);
    // "id" is a name in draft 4, and "x-..." an extension.
    const bool is_own = name == "id" || name.starts_with("x-");
    if (!is_format && (hint.empty() || is_own)) continue;
    const std::string place = pointer_of(value).value_or(name);
    if (all.size() == kMostTold || has_failed()) break;
    all.push_back(one_line(
        is_format
            ? fmt::format("'{}' is {}, a format that is not enforced{}", place, shown(*value), hint)
            : fmt::format("'{}' is not a JSON Schema keyword and has no effect{}", place, hint)));
  }
  return all;
}

Node SchemaDocument::made(Node of, const std::string& key, const std::function<Json()>& make) {
  const auto [at, is_new] = made_.try_emplace({of, key}, nullptr);
  if (is_new) {
    made_nodes_.push_back(make());
    at->second = &made_nodes_.back();
    const size_t n = n_values(made_nodes_.back());
    n_made_values_ += n;
    work(10 + n / 2);
  }
  return at->second;
}

const CharDfa* SchemaDocument::matches_of(const std::string& pattern, Node schema) {
  if (const auto known = patterns_.find(pattern); known != patterns_.end()) return &known->second;
  work(1 + pattern.size() / 64);
  const auto regex = parse_regex(pattern);
  if (!regex) {
    if (!failure_) failure_ = {regex.error().code, schema, regex.error().message()};
    return nullptr;
  }
  auto dfa = automaton_of(*regex, true);
  if (!dfa) {
    exceed(schema, "the pattern '{}' is {}", pattern, dfa.error().message());
    return nullptr;
  }
  return &patterns_.emplace(pattern, std::move(*dfa)).first->second;
}

const CountedSet* SchemaDocument::counted_set_of(const std::string& pattern) {
  const auto [at, is_new] = counted_sets_.try_emplace(pattern);
  if (is_new) {
    work(1 + pattern.size() / 64);
    if (const auto regex = parse_regex(pattern)) at->second = grammar::counted_set_of(*regex);
  }
  return at->second ? &*at->second : nullptr;
}

const CharDfa* SchemaDocument::format_of(const std::string& name, Node schema) {
  if (const auto known = formats_.find(name); known != formats_.end()) return &known->second;
  auto dfa = automaton_of(*parse_regex(*pattern_of_format(name)));
  if (dfa) dfa = dfa->minimal();
  if (!dfa) {
    exceed(schema, "the format '{}' is {}", name, dfa.error().message());
    return nullptr;
  }
  return &formats_.emplace(name, std::move(*dfa)).first->second;
}

Result<CharDfa> SchemaDocument::automaton_of(const Regex& regex, bool is_search) {
  size_t n_steps = 0;
  auto dfa = CharDfa::of(regex, is_search, &n_steps);
  work(n_steps / kAutomatonSteps);
  return dfa;
}

Result<CharDfa> SchemaDocument::both(const CharDfa& a, const CharDfa& b) {
  size_t n_steps = 0;
  auto dfa = a.both(b, &n_steps);
  work(n_steps / kAutomatonSteps);
  return dfa;
}

std::optional<CharLengths> SchemaDocument::lengths_of(const CharDfa& dfa, Lengths bounds,
                                                      Node schema) {
  if ((bounds.most == Lengths::kNoEnd ? bounds.least : bounds.most) > kMostLength) {
    refuse(schema, "a 'minLength' or 'maxLength' above {}", kMostLength);
    return std::nullopt;
  }
  size_t n_steps = 0;
  auto lengths = CharLengths::of(dfa, bounds, &n_steps);
  work(n_steps / kAutomatonSteps);
  if (lengths) return std::move(*lengths);
  exceed(schema, "the lengths of strings are {}", lengths.error().message());
  return std::nullopt;
}

void SchemaDocument::work(size_t n) {
  if (work_left_ < n)
    exceed(nullptr, "too complex: reading it takes more than {} steps", kMostSchemaWork);
  work_left_ -= std::min(n, work_left_);
}

void SchemaDocument::forgive() {
  if (work_left_ > 0) failure_.reset();
}

Error SchemaDocument::error() const {
  return make_error(failure_->code, "schema{}: {}",
                    failure_->at == nullptr ? "" : place_of(failure_->at), failure_->what);
}

// " at '#/properties/a'", by search.
std::string SchemaDocument::place_of(Node schema) const {
  std::string path = "#";
  return find_path(schema, root_, &path) && path != "#" ? " at '" + path + "'" : "";
}

std::optional<std::string> SchemaDocument::pointer_of(const Json* value) {
  if (n_written_values_ == 0) n_written_values_ = n_values(root_);
  work(1 + n_written_values_ / kValuesPerStep);
  std::string path = "#";
  if (has_failed() || !find_path(value, root_, &path)) return std::nullopt;
  return path;
}

std::string SchemaDocument::told(const Json* value) {
  if (const auto pointer = pointer_of(value))
    return fmt::format("'{}' is {}", *pointer, shown(*value));
  work(1 + n_made_values_ / kValuesPerStep);
  for (const auto& [from, made] : made_) {
    std::string ignored;
    if (has_failed() || !find_path(value, *made, &ignored)) continue;
    const auto pointer = pointer_of(from.first);
    return pointer ? fmt::format("'{}' sets another condition", *pointer) : told(from.first);
  }
  return "another condition";
}

}  // namespace pando::grammar
