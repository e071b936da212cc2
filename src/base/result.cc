#include "pando/values/result.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"

namespace pando {

const char* error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kBadFile:
      return "bad_file";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kTooLong:
      return "too_long";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

namespace {

std::string name_of(const std::string& option, OptionStyle style) {
  if (style == OptionStyle::kField) return option;
  std::string name = "--" + option;
  std::ranges::replace(name, '_', '-');
  return name;
}

}  // namespace

std::string Error::message(OptionStyle style) const {
  std::string text;
  if (!place.file.empty()) text += place.file + ": ";
  switch (subject) {
    case ErrorSubject::kNone:
      break;
    case ErrorSubject::kField:
      text += fmt::format("{}'{}' ", place.file.empty() ? "field " : "", one_line(place.field));
      break;
    case ErrorSubject::kOption:
      text += name_of(place.option, style) + " ";
      break;
    case ErrorSubject::kTensor:
      text += fmt::format("tensor '{}' ", place.tensor);
      break;
  }
  text += found;
  if (!expected.empty()) text += ", expected " + expected;
  if (!hint.empty()) text += fmt::format(" (hint: {})", hint);
  return text;
}

}  // namespace pando
