// The techniques of the laboratory, registered once for each test program.
#pragma once

#include <stdexcept>
#include <string_view>

#include "lab/techniques/techniques.h"

namespace pando::lab {

inline void open_techniques() {
  static const bool registered = (register_techniques(), true);
  static_cast<void>(registered);
}

inline Technique technique_named(std::string_view sharing, int tile_len) {
  open_techniques();
  Result<Technique> technique = make_technique(sharing, tile_len);
  if (!technique) throw std::runtime_error(technique.error().message());
  return std::move(*technique);
}

}  // namespace pando::lab
