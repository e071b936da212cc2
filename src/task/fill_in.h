// Prompt templates.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "pando/values/result.h"

namespace pando {

// The fields of a template for questions.
inline constexpr std::string_view kQuestionFields[] = {"{instruction}", "{context}", "{question}"};

// `text` with every name, such as "{context}", replaced by its value; values are left as they are.
std::string fill_in(std::string_view text,
                    std::initializer_list<std::pair<std::string_view, std::string_view>> fields);

// "the template has the field {contxt}, which is unknown (hint: '{context}'?)" for names in braces
// that are not in `fields` but read like a name in `meant`. Each has its hint. Empty if there are
// no such names. Anything else in braces is text, and so is a name in doubled braces.
std::string near_fields(std::string_view text, std::span<const std::string_view> fields,
                        std::span<const std::string_view> meant);

// kInvalidArgument if the template has no `field`, such as "{context}". If a name reads like
// `field`, the message names all names that read like fields. Otherwise it gives `reason` (", so
// ...") and says what to write.
Status check_field(std::string_view text, std::span<const std::string_view> fields,
                   std::string_view field, std::string_view reason = {});

// For a template with all its fields: names text that reads like one of them. Empty if there is
// none.
std::string template_warning_of(std::string_view text, std::span<const std::string_view> fields);

}  // namespace pando
