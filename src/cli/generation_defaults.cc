#include "cli/generation_defaults.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/errors.h"
#include "base/json.h"
#include "cli/answer_options.h"

namespace pando::cli {

void add_generation_options(CLI::App& app, DefaultsArguments& o, const std::string& group) {
  app.add_option_function<std::string>(
         "--generation-config",
         [&o](const std::string& value) {
           o.required = value != "false";  // an options file gives "true" or "false"
           o.ignored = o.ignored || !o.required;
           if (o.required && value != "true") o.file = value;
         },
         "Take sampling defaults from this file instead of the model's own. Without FILE the model "
         "must have some: in generation_config.json, or as keys general.sampling.* of GGUF")
      ->expected(0, 1)
      ->type_name("[FILE]")
      ->group(group);
  app.add_flag("--no-generation-config", o.ignored, "Take no sampling defaults from files")
      ->group(group);
}

Result<std::optional<GenerationConfig>> find_defaults(const DefaultsArguments& o,
                                                      const ModelPath& model) {
  if (o.ignored && o.required)
    return invalid_argument(
        "--generation-config is given with --no-generation-config, expected one of them");
  if (o.ignored) return std::optional<GenerationConfig>();
  Result<GenerationConfig> config =
      read_generation_config(o.file.empty() ? model : model.at(o.file));
  if (config) {
    if (o.file.empty()) config->eos.clear();
    const bool says_nothing = config->options.empty() && config->stop.empty() &&
                              config->eos.empty() && config->not_offered.empty();
    if (says_nothing && !o.required) return std::optional<GenerationConfig>();
    return std::optional(std::move(*config));
  }
  if (!o.required && config.error().code == ErrorCode::kNotFound)
    return std::optional<GenerationConfig>();
  return config.error();
}

std::string take_defaults(const GenerationConfig& config, const IsGiven& given,
                          const std::string& otherwise, SamplingOptions& sampling) {
  std::vector<std::string> taken, replaced;
  const auto note = [&](bool was_given, std::string what) {
    (was_given ? replaced : taken).push_back(std::move(what));
    return !was_given;
  };
  for (const auto& [option, value] : config.options) {
    SamplingOptions set = sampling;
    apply_option(*option, value, set);
    const double number = option_number(*option, set).value_or(value);
    if (note(given("--" + dashed(*option)), fmt::format("{} {}", option->name, number)))
      sampling = std::move(set);
  }
  if (!config.stop.empty() &&
      note(given("--stop"), fmt::format("stop {}", found_text(Json(config.stop)))))
    sampling.stop = config.stop;
  if (!config.eos.empty() &&
      note(sampling.ignore_eos, fmt::format("end tokens {}", fmt::join(config.eos, ", "))))
    sampling.stop_tokens = config.eos;
  std::string said = fmt::format("sampling defaults from {}: {}", one_line(config.source),
                                 taken.empty() ? "none" : fmt::to_string(fmt::join(taken, ", ")));
  const auto add = [&](const char* why, const std::vector<std::string>& all) {
    if (!all.empty()) said += fmt::format("; {}: {}", why, fmt::join(all, ", "));
  };
  const auto is_temperature = [](const auto& one) {
    return one.first->member == OptionMember(&SamplingOptions::temperature);
  };
  if (std::ranges::none_of(config.options, is_temperature) && !given("--temperature"))
    add("Pando's own", {otherwise});
  add("set by options", replaced);
  add("not taken", config.not_offered);
  return said;
}

}  // namespace pando::cli
