#include "pando/values/result.h"

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

}  // namespace pando
