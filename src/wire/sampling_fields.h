// The fields that Pando's own lines and the bodies of the API have in common.
#pragma once

#include <vector>

#include "base/fields.h"
#include "pando/request.h"
#include "pando/request_options.h"

namespace pando::wire {

// The options that may stand in such a place: a line or a body.
void read_sampling(Fields& fields, OptionPlace place, SamplingOptions& sampling);

// "stream_options", which only a stream may have.
struct StreamOptions {
  bool include_usage = false;           // it ends with its usage
  bool continuous_usage_stats = false;  // each event has the usage so far
};
StreamOptions read_stream_options(Fields& fields, bool stream);

// As Fields::only, of a request that generates nothing: options of answers are no misspelt names.
void only_without_answers(Fields& fields, std::span<const std::string_view> known);

// A name that other programs have for a field, and the field.
struct OtherName {
  std::string_view name;
  std::string_view field;
};
// Such a name is a mistake where its field is not there. To be called before Fields::only, which
// has hints for names that look like a field.
void refuse_other_names(Fields& fields, std::span<const OtherName> names);

// "truncate": whether texts that are too long are cut, true or "END" at their end, "START" at their
// beginning.
bool read_truncate(Fields& fields, bool& at_end);

// Memory of its lists, which each request has a copy of.
size_t list_bytes(const SamplingOptions& sampling);

}  // namespace pando::wire
