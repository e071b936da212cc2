// The fields that Pando's own lines and the bodies of the API have in common.
#pragma once

#include <vector>

#include "base/fields.h"
#include "pando/values/request.h"
#include "pando/values/request_options.h"

namespace pando::ask {

// The options that may stand in such a place: a line or a body.
void read_sampling(Fields& fields, OptionPlace place, SamplingOptions& sampling);

// Lowers a default min_tokens to the request's max_tokens.
void yield_default_length(const Json& request, SamplingOptions& sampling);

// "stream_options", which only a stream may have.
struct StreamOptions {
  bool include_usage = false;           // it ends with its usage
  bool continuous_usage_stats = false;  // each event has the usage so far
};
StreamOptions read_stream_options(Fields& fields, bool stream);

// As Fields::only, for a request that generates nothing. An option of answers gets a message of its
// own, because it is not a misspelt name.
void only_without_answers(Fields& fields, std::span<const std::string_view> known);

// "truncate": whether texts that are too long are cut, true or "END" at their end, "START" at their
// beginning.
bool read_truncate(Fields& fields, bool& at_end);

// Memory of its lists, which each request has a copy of.
size_t list_bytes(const SamplingOptions& sampling);

}  // namespace pando::ask
