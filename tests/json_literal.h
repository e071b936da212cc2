// Values of JSON, written as text.
#pragma once

#include <cstddef>

#include "pando/values/json_value.h"

namespace pando::testing {

inline JsonValue operator""_value(const char* text, size_t n) {
  return JsonValue::parse({text, n}).value();
}

}  // namespace pando::testing
