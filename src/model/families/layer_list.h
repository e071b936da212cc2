// Fields of a config.json that are lists with a value for each layer.
#pragma once

#include <span>
#include <string_view>

#include "base/fields.h"

namespace pando::model {

// True if the field, which must exist, is a list with one of `words` for each layer. Otherwise
// refuses it with kUnsupported, naming the entry or the number of entries.
bool is_layer_list(Fields& fields, std::string_view name, size_t n_layers,
                   std::span<const std::string_view> words);
// Refuses entry `i` of the list.
void refuse_entry(Fields& fields, std::string_view name, size_t i, std::string_view expected);

}  // namespace pando::model
