// Errors as values. Everything that a caller, a file or the machine can cause comes back as a
// `Result`; exceptions are kept for bugs.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace pando {

enum class ErrorCode {
  kInvalidArgument,  // a request or option that can never work
  kNotFound,         // a file, directory or id that is not there
  kBadFile,          // a file that is there and is not what it should be
  kUnsupported,      // well-formed, and outside what this version offers
  kTooLong,          // prompt and answer exceed the context or the memory for keys and values
  kUnavailable,      // the engine is shutting down or its queue is full
  kIo,               // the operating system refused a read or a write
  kInternal,         // a bug, carried to the request that met it
};

// The word used in messages and JSON: "invalid_argument", "not_found", ...
const char* error_code_name(ErrorCode code);

// What was found, what was expected, and where; `message` is one line for people.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

// A value of type T or an Error. Reading the side that is not there is a bug
// (std::bad_variant_access).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

// Success, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace pando
