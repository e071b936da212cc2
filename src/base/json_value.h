// Between trees of JSON and the values of the public interface.
#pragma once

#include "base/json_fwd.h"
#include "pando/values/json_value.h"

namespace pando {

// Both ways keep the order of members and the digits of large whole numbers.
JsonValue json_value(const Json& tree);
Json tree_of(const JsonValue& value);

// Refuses what no text of JSON gives: levels deeper than kDeepestJson, keys twice in an object,
// Digits that are no whole number, null pointers, and numbers that are not finite.
Status check(const JsonValue& value);

// Bytes of memory, about, that a value takes.
size_t n_bytes(const JsonValue& value);

}  // namespace pando
