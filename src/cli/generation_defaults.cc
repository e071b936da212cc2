#include "cli/generation_defaults.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/answer_options.h"
#include "pando/model_files.h"

namespace pando::cli {

Result<std::string> apply_generation_config(const std::filesystem::path& model,
                                            const IsGiven& given, SamplingOptions& sampling) {
  const Result<GenerationConfig> config = read_generation_config(model);
  if (!config) return config.error();
  std::vector<std::string> taken, left;
  const auto note = [&](bool was_given, std::string what) {
    (was_given ? left : taken)
        .push_back(std::move(what) + (was_given ? " (set by an option)" : ""));
    return !was_given;
  };
  const auto take = [&](const RequestOption& option, double value) {
    if (note(given("--" + dashed(option)), fmt::format("{} {}", option.name, value)))
      set_option_number(option, value, sampling);
  };
  const RequestOption* temperature = find_option("temperature", kInSamplingConfig);
  const auto is_temperature = [&](const auto& option) { return option.first == temperature; };
  if (!config->samples)
    note(given("--temperature"), "always the likeliest token (do_sample is false)");
  else if (std::ranges::none_of(config->options, is_temperature))
    take(*temperature, 1);
  for (const auto& [option, value] : config->options)
    if (config->samples || option->stands_in(kInConfig)) take(*option, value);
  if (!config->eos.empty() &&
      note(sampling.ignore_eos, fmt::format("end tokens {}", fmt::join(config->eos, ", "))))
    sampling.stop_tokens.insert(sampling.stop_tokens.end(), config->eos.begin(), config->eos.end());
  for (const std::string& field : config->not_offered) left.push_back(field + " (not supported)");
  return fmt::format("generation_config.json: used: {}{}{}",
                     taken.empty() ? "nothing" : fmt::format("{}", fmt::join(taken, ", ")),
                     left.empty() ? "" : "; not used: ", fmt::join(left, ", "));
}

}  // namespace pando::cli
