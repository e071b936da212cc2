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

// Fields that any door's body may have.
std::vector<std::string_view> common_fields() {
  const auto serving = serving_field_names();
  std::vector<std::string_view> names(serving.begin(), serving.end());
  names.emplace_back("chat_template_kwargs");
  for (const RequestOption& option : request_options())
    if (option.stands_in(kInBody) &&
        std::ranges::find(kNotInDoors, option.name) == std::end(kNotInDoors))
      names.emplace_back(option.name);
  return names;
}

}  // namespace

Status ChatDraft::copy(const Json& body, std::span<const DoorField> table) {
  std::vector<std::string_view> known = common_fields();
  for (const DoorField& field : table) known.push_back(field.name);
  for (const auto& [name, value] : body.items()) {
    if (value.is_null()) continue;
    const auto field = std::ranges::find(table, name, &DoorField::name);
    if (field != table.end()) {
      if (field->chat_name.empty()) continue;
      chat[std::string(field->chat_name)] = value;
      if (field->chat_name != name) set_origin(std::string(field->chat_name), name);
    } else if (std::ranges::find(known, name) != known.end()) {
      chat[name] = value;
    } else {
      return with_nearest(name, known, invalid_field(name, "is unknown or unsupported"));
    }
  }
  return {};
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
  error.place.field = origin_of(error.place.field);
  for (std::string* text : {&error.found, &error.expected, &error.hint}) *text = retold(*text);
  return error;
}

}  // namespace pando::ask
