// Prompt templates.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "pando/values/result.h"

namespace pando {

// `text` with every name, such as "{context}", replaced by its value; values are left as they are.
std::string fill_in(std::string_view text,
                    std::initializer_list<std::pair<std::string_view, std::string_view>> fields);

// kInvalidArgument if the template has no `field`, such as "{context}". The message ends with
// `reason` (", so ...").
Status check_field(std::string_view text, std::string_view field, std::string_view reason = {});

}  // namespace pando
