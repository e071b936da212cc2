// PANDO_CHECK(condition): an invariant that no input can break. A failure is a bug; it throws, so
// that the engine can hand it to the request at fault instead of ending the process.
#pragma once

#include <stdexcept>

namespace pando {

struct BugError : std::logic_error {
  using std::logic_error::logic_error;
};

}  // namespace pando

#define PANDO_STRINGIFY_(x) #x
#define PANDO_STRINGIFY(x) PANDO_STRINGIFY_(x)
#define PANDO_CHECK(condition)                                                                     \
  do {                                                                                             \
    if (!(condition)) [[unlikely]]                                                                 \
      throw ::pando::BugError("bug: " #condition " (" __FILE__ ":" PANDO_STRINGIFY(__LINE__) ")"); \
  } while (false)
