#include "wire/sampling_fields.h"

#include "base/errors.h"
#include "base/json.h"

namespace pando::wire {

void read_sampling(Fields& fields, SamplingOptions& sampling) {
  fields.integer("max_tokens", sampling.max_tokens);
  fields.number("temperature", sampling.temperature);
  fields.integer("top_k", sampling.top_k);
  if (sampling.top_k == -1) sampling.top_k = 0;  // off, as other servers write it
  fields.number("top_p", sampling.top_p);
  fields.number("min_p", sampling.min_p);
  fields.biases("logit_bias", sampling.logit_bias);
  fields.number("repetition_penalty", sampling.repetition_penalty);
  fields.number("presence_penalty", sampling.presence_penalty);
  fields.number("frequency_penalty", sampling.frequency_penalty);
  fields.seed("seed", sampling.seed);
  fields.integer("n", sampling.n);
  fields.texts("stop", sampling.stop);
  fields.flag("ignore_eos", sampling.ignore_eos);
}

StreamOptions read_stream_options(Fields& fields, bool stream) {
  StreamOptions read;
  if (!fields.has("stream_options")) return read;
  nlohmann::json options = nlohmann::json::object();
  fields.object("stream_options", options);
  if (!stream)
    fields.fail("stream_options", options, "no such field, because 'stream' is not true");
  bool obfuscates = false;
  Fields of_stream(options);
  of_stream.flag("include_usage", read.include_usage);
  of_stream.flag("continuous_usage_stats", read.continuous_usage_stats);
  of_stream.flag("include_obfuscation", obfuscates);
  if (obfuscates) of_stream.fail("include_obfuscation", true, "false, because it is not supported");
  of_stream.only(std::initializer_list<std::string_view>{"include_usage", "continuous_usage_stats",
                                                         "include_obfuscation"});
  fields.fail("stream_options", of_stream);
  return read;
}

bool read_truncate(Fields& fields, bool& at_end) {
  constexpr const char* kExpected = "true, false, \"NONE\", \"START\" or \"END\"";
  at_end = true;
  if (!fields.has("truncate")) return false;
  const nlohmann::json& value = fields["truncate"];
  if (value.is_boolean()) return value.get<bool>();
  at_end = value == "END";
  if (!at_end && value != "START" && value != "NONE") fields.fail("truncate", value, kExpected);
  return value != "NONE";
}

size_t list_bytes(const SamplingOptions& sampling) {
  constexpr size_t kBytesPerBias = 64;  // a node of the map
  size_t n_bytes =
      sampling.logit_bias.size() * kBytesPerBias + sampling.stop_tokens.size() * sizeof(Token);
  for (const std::string& stop : sampling.stop) n_bytes += sizeof(stop) + stop.size();
  return n_bytes;
}

}  // namespace pando::wire
