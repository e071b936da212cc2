// Features of other models of a family's kind that Pando lacks: fields of their files that would
// change every answer if they were ignored.
#pragma once

#include <span>
#include <string_view>

#include "base/fields.h"
#include "base/json.h"
#include "model/gguf_fields.h"

namespace pando::model {

// kUnsupported, by name, for a field that asks for such a computation, but for those that the
// family offers.
void refuse_unoffered(Fields& fields, int64_t head_dim, std::span<const std::string_view> offers);
// Does the same for the keys of a GGUF file.
void refuse_unoffered(GgufFields& fields, int64_t head_dim,
                      std::span<const std::string_view> offers);

// Adds the error kUnsupported for a field that is not `known` and has a value other than null,
// false or empty.
void refuse_unknown(Fields& fields, const Json& object, std::span<const std::string_view> known);

}  // namespace pando::model
