// Short makers for `Error`: invalid_argument("'top_p' is {}, expected (0, 1]", v).
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "pando/result.h"

namespace pando {

// What a message may hold of a stranger's file: UTF-8 without control characters, and of a long
// text its beginning and end.
std::string one_line(std::string_view text);

template <class... Args>
Error make_error(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  return Error{code, one_line(fmt::format(text, std::forward<Args>(args)...))};
}
template <class... Args>
Error invalid_argument(fmt::format_string<Args...> text, Args&&... args) {
  return make_error(ErrorCode::kInvalidArgument, text, std::forward<Args>(args)...);
}
template <class... Args>
Error not_found(fmt::format_string<Args...> text, Args&&... args) {
  return make_error(ErrorCode::kNotFound, text, std::forward<Args>(args)...);
}
template <class... Args>
Error bad_file(fmt::format_string<Args...> text, Args&&... args) {
  return make_error(ErrorCode::kBadFile, text, std::forward<Args>(args)...);
}
template <class... Args>
Error unsupported(fmt::format_string<Args...> text, Args&&... args) {
  return make_error(ErrorCode::kUnsupported, text, std::forward<Args>(args)...);
}
template <class... Args>
Error io_error(fmt::format_string<Args...> text, Args&&... args) {
  return make_error(ErrorCode::kIo, text, std::forward<Args>(args)...);
}

}  // namespace pando
