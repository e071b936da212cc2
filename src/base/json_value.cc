#include "base/json_value.h"

#include <charconv>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "base/errors.h"
#include "base/json.h"

namespace pando {
namespace {

// Numbers that are not negative are unsigned in a tree, as the parser makes them.
Json number(int64_t value) { return value < 0 ? Json(value) : Json(static_cast<uint64_t>(value)); }

Json number(const JsonValue::Digits& digits) {
  uint64_t value = 0;
  const char* end = digits.text.data() + digits.text.size();
  const auto [stop, error] = std::from_chars(digits.text.data(), end, value);
  return error == std::errc() && stop == end ? Json(value) : kept_number(digits.text);
}

struct TreeMaker {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(bool value) const { return value; }
  Json operator()(int64_t value) const { return number(value); }
  Json operator()(double value) const { return value; }
  Json operator()(const JsonValue::Digits& digits) const { return number(digits); }
  Json operator()(const std::string& text) const { return text; }
  Json operator()(const std::shared_ptr<const JsonValue::List>& list) const {
    Json tree = Json::array();
    for (const JsonValue& one : *list) tree.push_back(tree_of(one));
    return tree;
  }
  Json operator()(const std::shared_ptr<const JsonValue::Object>& object) const {
    Json tree = Json::object();
    auto& members = tree.get_ref<Json::object_t&>();
    members.reserve(object->size());
    for (const auto& [name, one] : *object) members.emplace_back(name, tree_of(one));
    return tree;
  }
};

bool is_whole_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos &&
         (text == "0" || text[0] != '0');
}

Status check_at(const JsonValue& value, size_t depth) {
  if (depth > kDeepestJson)
    return invalid_argument("the value is nested deeper than {} levels", kDeepestJson);
  if (const auto* number = std::get_if<double>(&value.value); number && !std::isfinite(*number))
    return invalid_argument("the value has a number that is not finite");
  if (const auto* digits = std::get_if<JsonValue::Digits>(&value.value);
      digits && !is_whole_number(digits->text))
    return invalid_argument("the value has '{}' as a whole number", digits->text);
  if (const auto* list = std::get_if<std::shared_ptr<const JsonValue::List>>(&value.value)) {
    if (*list == nullptr) return invalid_argument("the value has a list that is null");
    for (const JsonValue& one : **list)
      if (Status status = check_at(one, depth + 1); !status) return status;
  }
  if (const auto* object = std::get_if<std::shared_ptr<const JsonValue::Object>>(&value.value)) {
    if (*object == nullptr) return invalid_argument("the value has an object that is null");
    std::unordered_set<std::string_view> names;
    for (const auto& [name, one] : **object) {
      if (!names.insert(name).second) return invalid_argument("the value has '{}' twice", name);
      if (Status status = check_at(one, depth + 1); !status) return status;
    }
  }
  return {};
}

}  // namespace

JsonValue JsonValue::list(List members) {
  return {std::make_shared<const List>(std::move(members))};
}

JsonValue JsonValue::object(Object members) {
  return {std::make_shared<const Object>(std::move(members))};
}

Result<JsonValue> JsonValue::parse(std::string_view text) {
  const Result<Json> tree = parse_json(text, LargeNumbers::kKept);
  if (!tree) return tree.error();
  return json_value(*tree);
}

const JsonValue::List* JsonValue::as_list() const {
  const auto* list = std::get_if<std::shared_ptr<const List>>(&value);
  return list == nullptr ? nullptr : list->get();
}

const JsonValue::Object* JsonValue::as_object() const {
  const auto* object = std::get_if<std::shared_ptr<const Object>>(&value);
  return object == nullptr ? nullptr : object->get();
}

std::string JsonValue::text() const { return json_text(tree_of(*this)); }

bool JsonValue::operator==(const JsonValue& other) const {
  if (value == other.value) return true;  // equal scalars, or the same list or object
  const List *mine = as_list(), *its = other.as_list();
  if (mine != nullptr && its != nullptr) return *mine == *its;
  const Object *members = as_object(), *others = other.as_object();
  return members != nullptr && others != nullptr && *members == *others;
}

JsonValue json_value(const Json& tree) {
  switch (tree.type()) {
    case Json::value_t::boolean:
      return {tree.get<bool>()};
    case Json::value_t::number_integer:
      return {tree.get<int64_t>()};
    case Json::value_t::number_unsigned:
      if (const auto number = tree.get<uint64_t>(); std::in_range<int64_t>(number))
        return {static_cast<int64_t>(number)};
      return {JsonValue::Digits{tree.dump()}};
    case Json::value_t::number_float:
      return {tree.get<double>()};
    case Json::value_t::string:
      return {tree.get_ref<const std::string&>()};
    case Json::value_t::array: {
      JsonValue::List list;
      for (const Json& one : tree) list.push_back(json_value(one));
      return JsonValue::list(std::move(list));
    }
    case Json::value_t::object: {
      JsonValue::Object object;
      for (const auto& [name, one] : tree.items()) object.emplace_back(name, json_value(one));
      return JsonValue::object(std::move(object));
    }
    case Json::value_t::binary:
      return {JsonValue::Digits{kept_digits(tree)}};
    default:
      return {};
  }
}

Json tree_of(const JsonValue& value) { return std::visit(TreeMaker(), value.value); }

Status check(const JsonValue& value) { return check_at(value, 0); }

size_t n_bytes(const JsonValue& value) {
  size_t n = sizeof(value);
  if (const auto* text = std::get_if<std::string>(&value.value)) n += text->size();
  if (const auto* list = value.as_list())
    for (const JsonValue& one : *list) n += n_bytes(one);
  if (const auto* object = value.as_object())
    for (const auto& [name, one] : *object) n += sizeof(name) + name.size() + n_bytes(one);
  return n;
}

}  // namespace pando
