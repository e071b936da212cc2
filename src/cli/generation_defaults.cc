#include "cli/generation_defaults.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
  if (config->samples) {
    const double temperature = config->temperature.value_or(1.0);
    if (note(given("--temperature"), fmt::format("temperature {}", temperature)))
      sampling.temperature = temperature;
    if (config->top_k && note(given("--top-k"), fmt::format("top_k {}", *config->top_k)))
      sampling.top_k = *config->top_k;
    if (config->top_p && note(given("--top-p"), fmt::format("top_p {}", *config->top_p)))
      sampling.top_p = *config->top_p;
    if (config->min_p && note(given("--min-p"), fmt::format("min_p {}", *config->min_p)))
      sampling.min_p = *config->min_p;
  } else {
    note(given("--temperature"), "always the likeliest token (do_sample is false)");
  }
  if (config->repetition_penalty &&
      note(given("--repetition-penalty"),
           fmt::format("repetition_penalty {}", *config->repetition_penalty)))
    sampling.repetition_penalty = *config->repetition_penalty;
  if (!config->eos.empty() &&
      note(sampling.ignore_eos, fmt::format("end tokens {}", fmt::join(config->eos, ", "))))
    sampling.stop_tokens.insert(sampling.stop_tokens.end(), config->eos.begin(), config->eos.end());
  for (const std::string& field : config->not_offered) left.push_back(field + " (not supported)");
  return fmt::format("generation_config.json: used: {}{}{}",
                     taken.empty() ? "nothing" : fmt::format("{}", fmt::join(taken, ", ")),
                     left.empty() ? "" : "; not used: ", fmt::join(left, ", "));
}

}  // namespace pando::cli
