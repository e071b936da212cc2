// Handles are opaque in pando.h. Streams keep their engine alive, engines their model.
#pragma once

#include <unistd.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/errors.h"
#include "capi/status.h"
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
  const pid_t process = getpid();
};

namespace pando::capi {

// Options that may be NULL.
inline std::string_view or_empty(const char* options) {
  return options == nullptr ? "{}" : options;
}

// A process that was forked has the handles, and none of the threads behind them.
template <class Handle>
bool is_here(const Handle* handle) {
  return handle != nullptr && handle->process == getpid();
}

// kInvalidArgument for NULL, and for a handle that another process opened.
template <class Handle>
Status check_handle(const Handle* handle, const char* name) {
  if (handle == nullptr) return null_argument(name);
  if (is_here(handle)) return {};
  return blame(name, invalid_argument("the {} was opened by process {}, expected one of this "
                                      "process, {} (hint: open one after the fork)",
                                      name, handle->process, getpid()));
}

}  // namespace pando::capi
