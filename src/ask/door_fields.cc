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

bool begins_with_part(std::string_view place, std::string_view part) {
  return place.starts_with(part) &&
         (place.size() == part.size() || place[part.size()] == '.' || place[part.size()] == '[');
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// The text of a chat body's error with what it says of the part `place` said of `origin`.
void retell(std::string& text, const std::string& place, const std::string& origin) {
  constexpr std::string_view kMessages = "messages[";
  replace_all(text, fmt::format("'{}'", place), fmt::format("'{}'", origin));
  if (!place.starts_with(kMessages) || !place.ends_with(']')) return;
  const std::string index = place.substr(kMessages.size(), place.size() - kMessages.size() - 1);
  const std::string named = "message " + index;
  for (size_t at = 0; (at = text.find(named, at)) != std::string::npos;) {
    const size_t end = at + named.size();
    if (end < text.size() && text[end] >= '0' && text[end] <= '9') {
      at = end;
      continue;
    }
    text.replace(at, named.size(), origin);
    at += origin.size();
  }
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
  std::string_view longest;
  const std::string* origin = nullptr;
  for (const auto& [part, from] : origins_)
    if (begins_with_part(place, part) && (origin == nullptr || part.size() > longest.size())) {
      longest = part;
      origin = &from;
    }
  if (origin == nullptr) return std::string(place);
  return *origin + std::string(place.substr(longest.size()));
}

Error ChatDraft::translated(Error error) const {
  error.place.field = origin_of(error.place.field);
  for (const auto& [place, origin] : origins_)
    for (std::string* text : {&error.found, &error.expected, &error.hint})
      retell(*text, place, origin);
  return error;
}

}  // namespace pando::ask
