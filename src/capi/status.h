// From Result and exceptions to pando_status and pando_last_error.
#pragma once

#include <exception>
#include <new>
#include <string_view>

#include "base/errors.h"
#include "base/json_fwd.h"
#include "pando.h"
#include "pando/values/result.h"

namespace pando::capi {

// {"code", "message", "place"}, where the place has the members of ErrorPlace that apply.
Json error_json(const Error& error);

// Keeps the message for this thread, without a place.
pando_status fail(ErrorCode code, std::string_view message) noexcept;
// kNoMemory where there is none for the message.
pando_status fail(const Error& error) noexcept;

// An argument that must not be NULL, and is.
Error null_argument(const char* name);

inline pando_status status_of(const Status& status) {
  return status ? PANDO_OK : fail(status.error());
}

// Runs `body`, which returns a pando_status, and lets no exception out.
template <class Body>
pando_status guarded(const Body& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kUnavailable, kNoMemory);
  } catch (const std::exception& error) {
    return fail(ErrorCode::kInternal, error.what());
  }
}

}  // namespace pando::capi
