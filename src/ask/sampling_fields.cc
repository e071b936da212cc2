#include "ask/sampling_fields.h"

#include <algorithm>

#include "base/errors.h"
#include "base/json.h"

namespace pando::ask {

namespace {

void read_option(Fields& fields, const char* name, int& out) { fields.integer(name, out); }
void read_option(Fields& fields, const char* name, double& out) { fields.number(name, out); }
void read_option(Fields& fields, const char* name, bool& out) { fields.flag(name, out); }
void read_option(Fields& fields, const char* name, std::optional<uint64_t>& out) {
  fields.seed(name, out);
}
void read_option(Fields& fields, const char* name, std::vector<std::string>& out) {
  fields.texts(name, out);
}
void read_option(Fields& fields, const char* name, std::vector<Token>& out) {
  fields.tokens(name, out);
}
void read_option(Fields& fields, const char* name, std::map<Token, double>& out) {
  fields.biases(name, out);
}

}  // namespace

void read_sampling(Fields& fields, OptionPlace place, SamplingOptions& sampling) {
  for (const RequestOption& option : request_options())
    if (option.stands_in(place))
      std::visit([&](auto member) { read_option(fields, option.name, sampling.*member); },
                 option.member);
  if (sampling.top_k == -1) sampling.top_k = 0;  // off, as other servers write it
  // By default these are end tokens of a generation_config.json.
  if (sampling.ignore_eos && fields.has("ignore_eos") && !fields.has("stop_token_ids"))
    sampling.stop_tokens.clear();
}

void yield_default_length(const Json& request, SamplingOptions& sampling) {
  if (Fields(request).has("min_tokens")) return;
  sampling.min_tokens = std::min(sampling.min_tokens, std::max(sampling.max_tokens, 0));
}

StreamOptions read_stream_options(Fields& fields, bool stream) {
  StreamOptions read;
  if (!fields.has("stream_options")) return read;
  Json options = Json::object();
  fields.object("stream_options", options);
  if (!stream)
    fields.fail(invalid_field("stream_options", "has no meaning unless 'stream' is true"));
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

void only_without_answers(Fields& fields, std::span<const std::string_view> known) {
  for (const RequestOption& option : request_options())
    if (fields.has(option.name) && std::ranges::find(known, option.name) == known.end())
      return fields.fail(
          invalid_field(option.name, "has no meaning here, because nothing is generated"));
  fields.only(known);
}

bool read_truncate(Fields& fields, bool& at_end) {
  constexpr const char* kExpected = "true, false, \"NONE\", \"START\" or \"END\"";
  at_end = true;
  if (!fields.has("truncate")) return false;
  const Json& value = fields["truncate"];
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
  if (const std::optional<TextForm>& form = sampling.form) {
    n_bytes += form->text.size();
    for (const std::string& choice : form->choices) n_bytes += sizeof(choice) + choice.size();
  }
  return n_bytes;
}

}  // namespace pando::ask
