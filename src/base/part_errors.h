// Messages of errors that name the part of the input they are about.
#pragma once

#include "base/errors.h"

namespace pando {

// As in_part. If the message begins with a field of the part, it also names the part:
// "field 'messages[0].role' is 5, expected a string".
inline Error in_named_part(std::string_view part, Error error) {
  for (const std::string_view begin : {"field '", "unknown field '"})
    if (error.message.starts_with(begin))
      error.message.insert(begin.size(), fmt::format("{}.", part));
  return in_part(part, std::move(error));
}

}  // namespace pando
