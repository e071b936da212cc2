// The fields that Pando's own lines and the bodies of the API have in common.
#pragma once

#include <vector>

#include "base/fields.h"
#include "pando/request.h"

namespace pando {

// Those of SamplingOptions that have the same name and form in both.
void read_sampling(Fields& fields, SamplingOptions& sampling);

// "stream_options", which only a stream may have: whether it ends with its usage.
bool read_stream_options(Fields& fields, bool stream);

// Memory of its lists, which each request has a copy of.
size_t list_bytes(const SamplingOptions& sampling);

}  // namespace pando
