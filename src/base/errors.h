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

// An error of a text such as "{} is {}, expected {} (hint: {})". The text's parts become those of
// the error: what stands before ", expected ", between it and " (hint: ", and in the brackets at
// the end. Arguments do not divide the text.
Error made_error(ErrorCode code, std::string_view text, fmt::format_args args);

template <class... Args>
Error make_error(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  const fmt::string_view plain = text;
  return made_error(code, {plain.data(), plain.size()}, fmt::make_format_args(args...));
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

// Places of errors. Texts about a field, an option or a tensor say what it is: "is {}, expected 5".

// Returns the error with the field to blame.
Error blame(std::string field, Error error);
// Returns the error of a field that the message names.
Error of_field(std::string field, Error error);
// Does so for an option of the library.
Error of_option(std::string_view option, Error error);
// Does so for a tensor of a file.
Error of_tensor(std::string_view tensor, Error error);
// A tensor as it lies in a file.
struct TensorPlace {
  std::string file, name;
};
Error in_tensor(const TensorPlace& place, Error error);
// Returns the error as found in what is called so: "FILE: 'top_p' is 5". An error of a part of it
// has both names: "ARCHIVE: FILE: ...".
Error in_file(std::string_view file, Error error);
// Returns the error of a field in a part of something: the field "role" in "messages[0]" is
// "messages[0].role".
Error in_part(std::string_view part, Error error);
// "FIELD[2]": an element of a list.
std::string place_in(std::string_view list, size_t index);
template <class... Args>
Error invalid_field(std::string name, fmt::format_string<Args...> text, Args&&... args) {
  return of_field(std::move(name), invalid_argument(text, std::forward<Args>(args)...));
}
template <class... Args>
Error invalid_option(std::string_view name, fmt::format_string<Args...> text, Args&&... args) {
  return of_option(name, invalid_argument(text, std::forward<Args>(args)...));
}

// Errors that refuse a field by its name alone begin with it.
inline constexpr std::string_view kUnknown = "is unknown";
inline bool is_unknown_field(const Error& error) {
  return error.subject == ErrorSubject::kField && error.found.starts_with(kUnknown);
}

// Returns the error with another code.
Error with_code(ErrorCode code, Error error);
// Returns the error with a hint; an empty one changes nothing.
Error with_hint(std::string hint, Error error);
inline constexpr std::string_view kNoMemory = "not enough memory";
// The error for a lack of memory. Making it takes memory itself: see made_or.
inline Error no_memory() { return make_error(ErrorCode::kUnavailable, "{}", kNoMemory); }
inline bool is_no_memory(const Error& error) {
  return error.code == ErrorCode::kUnavailable && error.found == kNoMemory;
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

}  // namespace pando
