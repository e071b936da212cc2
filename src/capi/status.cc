#include "capi/status.h"

#include <string>
#include <utility>

#include "base/errors.h"
#include "base/json.h"
#include "pando/version.h"

namespace pando::capi {
namespace {

thread_local std::string last_error, last_place;

Json place_json(const ErrorPlace& place) {
  Json json = Json::object();
  for (const auto& [name, value] : {std::pair{"file", &place.file},
                                    {"field", &place.field},
                                    {"option", &place.option},
                                    {"tensor", &place.tensor}})
    if (!value->empty()) json[name] = *value;
  return json;
}

}  // namespace

Error null_argument(const char* name) {
  return blame(name, invalid_argument("'{}' is NULL, expected a value", name));
}

Json error_json(const Error& error) {
  return {{"code", error_code_name(error.code)},
          {"message", error.message()},
          {"place", place_json(error.place)}};
}

pando_status fail(ErrorCode code, std::string_view message) noexcept {
  last_place.clear();
  try {
    last_error = message;
  } catch (const std::exception&) {
    last_error.clear();  // no memory for it
  }
  return static_cast<pando_status>(static_cast<int>(code) + 1);
}

pando_status fail(const Error& error) noexcept {
  try {
    const pando_status status = fail(error.code, error.message());
    last_place = json_text(place_json(error.place));
    return status;
  } catch (const std::bad_alloc&) {
    return fail(error.code, kNoMemory);
  }
}

static_assert(static_cast<int>(ErrorCode::kInvalidArgument) + 1 == PANDO_INVALID_ARGUMENT &&
              static_cast<int>(ErrorCode::kNotFound) + 1 == PANDO_NOT_FOUND &&
              static_cast<int>(ErrorCode::kBadFile) + 1 == PANDO_BAD_FILE &&
              static_cast<int>(ErrorCode::kUnsupported) + 1 == PANDO_UNSUPPORTED &&
              static_cast<int>(ErrorCode::kTooLong) + 1 == PANDO_TOO_LONG &&
              static_cast<int>(ErrorCode::kUnavailable) + 1 == PANDO_UNAVAILABLE &&
              static_cast<int>(ErrorCode::kIo) + 1 == PANDO_IO &&
              static_cast<int>(ErrorCode::kInternal) + 1 == PANDO_INTERNAL);

}  // namespace pando::capi

const char* pando_version(void) { return pando::version(); }

const char* pando_last_error(void) { return pando::capi::last_error.c_str(); }

const char* pando_last_error_place(void) {
  return pando::capi::last_place.empty() ? "{}" : pando::capi::last_place.c_str();
}

const char* pando_status_name(pando_status status) {
  switch (status) {
    case PANDO_OK:
      return "ok";
    case PANDO_TIMEOUT:
      return "timeout";
    case PANDO_END:
      return "end";
    case PANDO_CANCELLED:
      return "cancelled";
    default:
      return pando::error_code_name(static_cast<pando::ErrorCode>(status - 1));
  }
}
