#include <algorithm>

#include "model/families/rows.h"

namespace pando::model {

std::span<const Family* const> families() {
  static const std::vector<Family> rows =
      joined({dense_families(), mixture_families(), hybrid_families(), encoder_families()});
  static const std::vector<const Family*> all = [] {
    std::vector<const Family*> pointers;
    for (const Family& row : rows) pointers.push_back(&row);
    return pointers;
  }();
  return all;
}

const Family* find_family(std::string_view name) {
  const auto all = families();
  const auto found =
      std::ranges::find_if(all, [&](const Family* family) { return family->name == name; });
  return found == all.end() ? nullptr : *found;
}

}  // namespace pando::model
