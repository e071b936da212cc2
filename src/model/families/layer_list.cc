#include "model/families/layer_list.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/counted.h"
#include "base/errors.h"
#include "base/json.h"

namespace pando::model {

bool is_layer_list(Fields& fields, std::string_view name, size_t n_layers,
                   std::span<const std::string_view> words) {
  const Json& list = *fields.find(name);
  if (!list.is_array()) {
    fields.refuse(name, fmt::format("a list with an entry for each of {} layers", n_layers),
                  ErrorCode::kUnsupported);
    return false;
  }
  if (list.size() != n_layers) {
    fields.fail(
        in_file(fields.source(), unsupported("'{}' has {}, expected {}, one for each layer", name,
                                             counted(list.size(), "entries"), n_layers)));
    return false;
  }
  for (size_t i = 0; i < list.size(); ++i)
    if (std::ranges::none_of(words, [&](std::string_view word) { return list[i] == word; })) {
      refuse_entry(fields, name, i, fmt::format("\"{}\"", fmt::join(words, "\" or \"")));
      return false;
    }
  return true;
}

void refuse_entry(Fields& fields, std::string_view name, size_t i, std::string_view expected) {
  fields.fail(in_file(fields.source(), unsupported("'{}' is {}, expected {}", place_in(name, i),
                                                   found_text((*fields.find(name))[i]), expected)));
}

}  // namespace pando::model
