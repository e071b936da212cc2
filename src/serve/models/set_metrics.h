// Prometheus metrics of several models.
#pragma once

#include <cstddef>
#include <string>

#include "serve/http_metrics.h"

namespace pando::serve {

class ModelShelf;

// Any thread.
class SetMetrics : public HttpMetrics {
 public:
  SetMetrics() : HttpMetrics("pando_") {}
  // Metrics of the models that are loaded have the label `model`.
  std::string text(const ModelShelf& shelf, size_t n_connections, size_t n_body_bytes) const;
};

}  // namespace pando::serve
