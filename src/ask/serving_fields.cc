#include "ask/serving_fields.h"

#include <vector>

#include "ask/sampling_fields.h"
#include "base/errors.h"

namespace pando::ask {
namespace {

constexpr double kLongestMs = 86'400'000;  // a day

constexpr std::string_view kNames[] = {
    "model",    "user",        "sharing",     "cache",          "cache_prompt",
    "priority", "ttft_slo_ms", "tpot_slo_ms", "deadline_class", "public_prefix"};

// Milliseconds of the body, as seconds.
void read_slo(Fields& fields, const char* name, double& seconds) {
  double ms = 1;
  fields.number(name, ms);
  if (!(ms > 0 && ms <= kLongestMs))
    return fields.fail(
        invalid_field(name, "is {}, expected more than 0 and at most {}", ms, kLongestMs));
  if (fields.has(name)) seconds = 1e-3 * ms;
}

}  // namespace

ServingFields read_serving_fields(Fields& fields) {
  ServingFields read;
  fields.flag("sharing", read.sharing);
  fields.flag("cache_prompt", read.cached);  // as llama.cpp's server calls it
  fields.flag("cache", read.cached);
  int priority = 0;  // has no effect
  fields.integer("priority", priority);
  fields.text("deadline_class", read.deadline_class);
  read_slo(fields, "ttft_slo_ms", read.ttft_slo);
  read_slo(fields, "tpot_slo_ms", read.tpot_slo);
  fields.text("public_prefix", read.public_prefix);
  if (fields.has("public_prefix") && read.public_prefix.empty())
    fields.fail("public_prefix", read.public_prefix, "the name of a public prefix");
  return read;
}

std::span<const std::string_view> serving_field_names() { return kNames; }

void refuse_other_fields(Fields& fields, std::span<const std::string_view> own) {
  std::vector<std::string_view> known(std::begin(kNames), std::end(kNames));
  known.insert(known.end(), own.begin(), own.end());
  only_without_answers(fields, known);
}

}  // namespace pando::ask
