// The shapes of families that tests make models of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/make_model.h"

namespace pando::model {

inline std::vector<std::string> tiny_shapes() {
  std::vector<std::string> names;
  for (const std::string_view name : shape_names())
    if (name.starts_with("tiny-")) names.emplace_back(name);
  return names;
}

}  // namespace pando::model
