// What the opaque handles of pando.h are. Streams keep their engine alive, engines their model.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "pando.h"
#include "pando/engine.h"
#include "pando/generation_config.h"

struct pando_model {
  std::shared_ptr<const pando::Model> model;
  std::string info;  // JSON
  pando::Result<pando::GenerationConfig> defaults;
};

struct pando_engine {
  std::shared_ptr<pando::Engine> engine;
};

namespace pando::capi {

// Options that may be NULL.
inline std::string_view or_empty(const char* options) {
  return options == nullptr ? "{}" : options;
}

}  // namespace pando::capi
