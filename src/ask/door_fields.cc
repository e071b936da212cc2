#include "ask/door_fields.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ask/serving_fields.h"
#include "base/errors.h"
#include "base/nearest.h"
#include "pando/values/request_options.h"

namespace pando::ask {
namespace {

// Sampling options that doors have no room for, or name in their own way.
constexpr std::string_view kNotInDoors[] = {"n", "max_tokens", "stop", "logprobs"};

// Sampling options; with `is_whole` also the fields that any body may have.
std::vector<std::string_view> common_fields(bool is_whole) {
  std::vector<std::string_view> names;
  if (is_whole) {
    const auto serving = serving_field_names();
    names.assign(serving.begin(), serving.end());
    names.emplace_back("chat_template_kwargs");
  }
  for (const RequestOption& option : request_options())
    if (option.stands_in(kInBody) &&
        std::ranges::find(kNotInDoors, option.name) == std::end(kNotInDoors))
      names.emplace_back(option.name);
  return names;
}

}  // namespace

Status ChatDraft::copy(std::string_view part, const Json& object,
                       std::span<const DoorField> table) {
  const auto refused = [&](Error error) { return part.empty() ? error : in_part(part, error); };
  if (!object.is_object())
    return invalid_field(std::string(part), "is {}, expected an object", found_text(object));
  std::vector<std::string_view> known = common_fields(part.empty());
  const auto place = [&](std::string_view name) {
    return part.empty() ? std::string(name) : fmt::format("{}.{}", part, name);
  };
  for (const DoorField& field : table) {
    known.push_back(field.name);
    if (!field.chat_name.empty() && place(field.name) != field.chat_name)
      set_origin(std::string(field.chat_name), place(field.name));
  }
  for (const auto& [name, value] : object.items()) {
    if (value.is_null()) continue;
    const auto field = std::ranges::find(table, name, &DoorField::name);
    if (field == table.end() && std::ranges::find(known, name) == known.end())
      return refused(with_nearest(name, known, invalid_field(name, "is unknown or unsupported")));
    if (field != table.end() && !field->only.empty() && value != Json::parse(field->only))
      return refused(invalid_field(name, "is {}, expected {}, because other values are unsupported",
                                   found_text(value), field->only));
    const std::string copy(field == table.end() ? name : field->chat_name);
    if (copy.empty()) continue;
    chat[copy] = value;
    set_origin(copy, place(name));
  }
  return {};
}

void ChatDraft::drop_negative(const char* name) {
  const auto field = chat.find(name);
  if (field != chat.end() && field->is_number() && field->get<double>() < 0) chat.erase(name);
}

void ChatDraft::set_thinking(bool on, std::string origin) {
  Json& variables = chat["chat_template_kwargs"];
  if (variables.is_null()) variables = Json::object();
  if (variables.is_object()) variables["enable_thinking"] = on;
  set_origin("chat_template_kwargs.enable_thinking", std::move(origin));
}

void ChatDraft::set_origin(std::string place, std::string origin) {
  origins_.insert_or_assign(std::move(place), std::move(origin));
}

std::string ChatDraft::origin_of(std::string_view place) const {
  for (size_t end = place.size(); end > 0 && end != std::string_view::npos;
       end = place.find_last_of(".[", end - 1))
    if (const auto found = origins_.find(place.substr(0, end)); found != origins_.end())
      return found->second + std::string(place.substr(end));
  return std::string(place);
}

std::string ChatDraft::retold(std::string_view text) const {
  constexpr std::string_view kMessage = "message ";
  std::string told;
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    size_t end = 0;  // of a place that `rest` begins with
    std::string from;
    if (rest[0] == '\'') {
      const size_t quote = std::min(rest.find('\'', 1), rest.size());
      const std::string_view place = rest.substr(1, quote - 1);
      const std::string origin = origin_of(place);
      if (quote < rest.size() && origin != place) {
        end = quote + 1;
        from = fmt::format("'{}'", origin);
      }
    } else if (rest.starts_with(kMessage)) {
      const size_t digits = rest.find_first_not_of("0123456789", kMessage.size());
      const std::string_view index = rest.substr(kMessage.size(), digits - kMessage.size());
      const auto found = origins_.find(fmt::format("messages[{}]", index));
      if (found != origins_.end()) {
        end = kMessage.size() + index.size();
        from = found->second;
      }
    }
    told += end > 0 ? from : std::string(1, rest[0]);
    at += std::max<size_t>(end, 1);
  }
  return told;
}

Error ChatDraft::translated(Error error) const {
  const std::string copy = error.place.field;
  error.place.field = origin_of(copy);
  if (error.found.starts_with(copy + " "))  // "top_k is -5"
    error.found.replace(0, copy.size(), error.place.field);
  for (std::string* text : {&error.found, &error.expected, &error.hint}) *text = retold(*text);
  return error;
}

}  // namespace pando::ask
