#include "ask/unknown_fields.h"

#include <fmt/format.h>

#include <charconv>

#include "base/errors.h"

namespace pando::ask {
namespace {

// Splits the index "[2]" off the beginning of a place; false: there is none.
bool take_index(std::string_view& place, size_t& index) {
  if (!place.starts_with('[')) return false;
  const size_t end = place.find(']');
  if (end == place.npos) return false;
  const auto read = std::from_chars(place.data() + 1, place.data() + end, index);
  place.remove_prefix(end + 1);
  return read.ec == std::errc() && read.ptr + 1 == place.data();
}

// Names may have dots and brackets, so each member of the object that fits is tried.
bool remove_at(Json& value, std::string_view place) {
  if (size_t index = 0; value.is_array())
    return take_index(place, index) && index < value.size() &&
           remove_at(value[index], place.substr(place.starts_with('.') ? 1 : 0));
  if (!value.is_object()) return false;
  if (value.erase(std::string(place)) > 0) return true;
  for (auto& [name, member] : value.items()) {
    if (!place.starts_with(name) || place.size() == name.size()) continue;
    const std::string_view rest = place.substr(name.size());
    if ((rest[0] == '.' && remove_at(member, rest.substr(1))) ||
        (rest[0] == '[' && remove_at(member, rest)))
      return true;
  }
  return false;
}

}  // namespace

std::string remove_unknown_field(Json& body, const Error& error) {
  const std::string& place = error.place.field;
  return is_unknown_field(error) && remove_at(body, place) ? place : std::string();
}

std::string header_word(std::string_view place) {
  constexpr size_t kMost = 128;
  std::string word;
  for (const char c : place.substr(0, kMost)) {
    if (c > ' ' && c < 127 && c != ',' && c != '%')
      word += c;
    else
      word += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return word;
}

}  // namespace pando::ask
