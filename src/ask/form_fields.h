// The fields by which answers of a form are asked for.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "pando/values/request.h"

namespace pando::ask {

// A body of the OpenAI API has these: its own, those of vLLM and those of llama-server.
std::span<const std::string_view> body_form_fields();

// Leaves `form` as it is where none of them asks for one. Two of them are an error. Returns the
// field that the form comes from, as in "structured_outputs.json"; empty: none.
std::string read_body_form(Fields& fields, std::optional<TextForm>& form);

// "schema": a JSON Schema, an object or true or false.
void read_schema(Fields& fields, std::optional<TextForm>& form);

}  // namespace pando::ask
