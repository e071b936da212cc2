// Errors as values. Everything that a caller, a file or the machine can cause comes back as a
// `Result`; exceptions are kept for bugs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace pando {

// Kinds of errors; by them a program decides what to do.
enum class ErrorCode {
  kInvalidArgument,  // a request or option that can never work
  kNotFound,         // a file, directory or id that is not there
  kBadFile,          // a file exists but is malformed
  kUnsupported,      // well-formed, and outside what this version offers
  kTooLong,          // prompt and answer exceed the context or the memory for keys and values
  kUnavailable,      // the engine is shutting down, its queue is full or memory ran out
  kIo,               // the operating system refused a read or a write
  kInternal,         // a bug, carried to the request that met it
};

// The word used in messages and JSON: "invalid_argument", "not_found", ...
const char* error_code_name(ErrorCode code);

// How a message names the option kv_memory.
enum class OptionStyle {
  kField,        // kv_memory, as in C++, C and Python
  kCommandLine,  // --kv-memory
};

// The place at which an error was found. Members that do not apply are empty.
struct ErrorPlace {
  // A path, or the name of what was read: "the body", "rank 2". "A: B" is B in A.
  std::string file = {};
  std::string field = {};   // to blame, as the request has it: "top_p" or "messages[2].role"
  std::string option = {};  // name of an option of the library: "kv_memory"
  std::string tensor = {};  // name of a model's tensor
};

// Subject of `Error::found`.
enum class ErrorSubject { kNone, kField, kOption, kTensor };

// An error as data. Texts are UTF-8, without line breaks.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string found = {};     // a sentence, or what is said of `subject`: "is 5"
  std::string expected = {};  // "a number above 0"; may be empty
  std::string hint = {};      // may be empty
  ErrorPlace place = {};
  ErrorSubject subject = ErrorSubject::kNone;  // a member of `place`, which the message begins with

  // One line for people: "config.json: 'top_p' is 5, expected 0 to 1".
  std::string message(OptionStyle style = OptionStyle::kField) const;
};

// A value of type T or an Error. Reading the side that is not there is a bug
// (std::bad_variant_access).
template <class T>
class [[nodiscard]] Result {
 public:
  // Implicit, so that both are returned as they are.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // Does the same for an error.
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }  // there is a value
  explicit operator bool() const { return ok(); }  // there is a value

  T& value() & { return std::get<0>(state_); }               // the value
  const T& value() const& { return std::get<0>(state_); }    // the value
  T&& value() && { return std::get<0>(std::move(state_)); }  // the value
  T& operator*() & { return value(); }                       // the value
  const T& operator*() const& { return value(); }            // the value
  T* operator->() { return &value(); }                       // the value
  const T* operator->() const { return &value(); }           // the value

  const Error& error() const& { return std::get<1>(state_); }    // the error
  Error&& error() && { return std::get<1>(std::move(state_)); }  // the error

 private:
  std::variant<T, Error> state_;
};

// Success, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  // Implicit, so that it is returned as it is.
  Status(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }  // there is no error
  explicit operator bool() const { return ok(); }  // there is no error
  const Error& error() const& { return *error_; }  // only where there is one

 private:
  std::optional<Error> error_;
};

}  // namespace pando
