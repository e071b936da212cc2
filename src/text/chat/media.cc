#include "text/chat/media.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"

namespace pando {
namespace {

// Words in names: the singular; the plural has an s.
constexpr std::pair<std::string_view, std::string_view> kMedia[] = {
    {"image", "an image"}, {"img", "an image"},  {"video", "a video"},
    {"audio", "audio"},    {"sound", "a sound"}, {"file", "a file"}};

std::string_view medium_of_word(std::string_view word) {
  if (word.ends_with('s')) word.remove_suffix(1);
  for (const auto& [name, medium] : kMedia)
    if (word == name) return medium;
  return {};
}

}  // namespace

std::string_view medium_of(std::string_view name) {
  for (size_t at = 0; at <= name.size();) {
    const size_t end = std::min(name.find('_', at), name.size());
    if (const std::string_view medium = medium_of_word(name.substr(at, end - at)); !medium.empty())
      return medium;
    at = end + 1;
  }
  return {};
}

Error no_media(std::string_view where, std::string_view name, std::string field) {
  return blame(std::move(field), invalid_argument("{} has {} ('{}'), but Pando reads only text",
                                                  where, medium_of(name), name));
}

}  // namespace pando
