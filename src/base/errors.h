// Short makers for `Error`: invalid_argument("'top_p' is {}, expected (0, 1]", v).
#pragma once

#include <fmt/format.h>

#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "pando/values/result.h"

namespace pando {

// Text of an untrusted file, made fit for a message: UTF-8 without control characters; the middle
// of a long text is left out.
std::string one_line(std::string_view text);

// "a, b or c": the expected names, at least one.
std::string one_of_these(std::span<const std::string_view> names);

template <class... Args>
Error make_error(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  return Error{code, one_line(fmt::format(text, std::forward<Args>(args)...))};
}
template <class... Args>
Error invalid_argument(fmt::format_string<Args...> text, Args&&... args) {
  return make_error(ErrorCode::kInvalidArgument, text, std::forward<Args>(args)...);
}
inline constexpr std::string_view kNoMemory = "not enough memory";
// The error for a lack of memory. Making it takes memory itself: see made_or.
inline Error no_memory() { return make_error(ErrorCode::kUnavailable, "{}", kNoMemory); }
inline bool is_no_memory(const Error& error) {
  return error.code == ErrorCode::kUnavailable && error.message == kNoMemory;
}
// The error that `make` makes; where there is no memory for it `no_memory`, which was made before.
template <class Make>
Error made_or(const Make& make, Error no_memory) noexcept {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return no_memory;
  }
}
// The same error, with the field to blame.
inline Error blame(std::string field, Error error) {
  error.field = std::move(field);
  return error;
}
// The same for what was found in a part of something: its field is one of the part's. So is the
// field that the message begins with: "field 'messages[0].role' is 5, expected a string".
inline Error in_part(std::string_view part, Error error) {
  for (const std::string_view begin :
       {"field '", "unknown field '", "unknown or unsupported field '"})
    if (error.message.starts_with(begin))
      error.message.insert(begin.size(), fmt::format("{}.", part));
  error.field = fmt::format("{}{}{}", part, error.field.empty() ? "" : ".", error.field);
  return error;
}
// "FIELD[2]": an element of a list.
inline std::string place_in(std::string_view list, size_t index) {
  return fmt::format("{}[{}]", list, index);
}
// "field 'NAME' ...", with that field to blame.
template <class... Args>
Error invalid_field(const std::string& name, fmt::format_string<Args...> text, Args&&... args) {
  return blame(name, invalid_argument("field '{}' {}", name,
                                      fmt::format(text, std::forward<Args>(args)...)));
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
