// Images, sounds and other contents that are no text. No model reads them here.
#pragma once

#include <string>
#include <string_view>

#include "pando/values/result.h"

namespace pando {

// "an image", "a video", "audio" or "a file", for the type of a part or the name of a field such as
// "input_image"; empty for any other.
std::string_view medium_of(std::string_view name);

// "message 0 has an image ('image_url'), but Pando reads only text", with that field to blame.
Error no_media(std::string_view where, std::string_view name, std::string field);

// Refuses a JSON object whose type, or one of whose fields, stands for a medium.
template <class Json>
Status refuse_media(const Json& object, std::string_view where) {
  if (!object.is_object()) return {};
  if (const auto type = object.find("type"); type != object.end() && type->is_string())
    if (const auto& name = type->template get_ref<const std::string&>(); !medium_of(name).empty())
      return no_media(where, name, "type");
  for (const auto& [name, value] : object.items())
    if (!value.is_null() && !(value.is_array() && value.empty()) && !medium_of(name).empty())
      return no_media(where, name, name);
  return {};
}

}  // namespace pando
