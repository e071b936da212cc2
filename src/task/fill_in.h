// Prompt templates.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "pando/result.h"

namespace pando {

// `text` with every name, such as "{context}", replaced by its value; values are left as they are.
std::string fill_in(std::string_view text,
                    std::initializer_list<std::pair<std::string_view, std::string_view>> fields);

// kInvalidArgument for a name in braces that is none of `names`, such as "{context}", but that
// reads like one: "{contxt}". What else stands in braces is text.
Status check_names(std::string_view text, std::span<const std::string_view> names);

}  // namespace pando
