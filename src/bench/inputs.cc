#include "bench/inputs.h"

#include <fmt/ranges.h>

#include "base/errors.h"

namespace pando::bench {

namespace fs = std::filesystem;

Result<Inputs> inputs_of(std::string_view benchmark) {
  for (const BenchmarkInfo& info : benchmarks())
    if (info.name == benchmark) return info.inputs;
  return not_found("no inputs are known of '{}'", benchmark);
}

std::string in_words(const Inputs& inputs) {
  std::vector<const char*> words;
  if (inputs.peers) words.push_back("needs --peer");
  if (!inputs.files.empty())
    words.push_back(inputs.files_optional ? "takes --data" : "needs --data");
  if (inputs.model) words.push_back("takes --model");
  if (inputs.device) words.push_back("takes --device");
  return fmt::format("{}", fmt::join(words, ", "));
}

Status check_inputs(std::string_view benchmark, const Settings& settings) {
  const Result<Inputs> found = inputs_of(benchmark);
  if (!found) return found.error();
  const Inputs& inputs = *found;
  const auto useless = [&](const char* option) {
    return in_file(option, invalid_argument("{} has no use for it", benchmark));
  };
  if (!settings.model.empty() && !inputs.model) return useless("--model");
  if (!settings.device.empty() && !inputs.device) return useless("--device");
  if (!settings.data.empty() && inputs.files.empty()) return useless("--data");
  if (!settings.peers.empty() && !inputs.peers) return useless("--peer");
  if (settings.threads != 0 && !inputs.threads)
    return invalid_argument("--threads: {} has one thread, expected no --threads", benchmark);
  if (settings.peers.empty() && inputs.peers)
    return invalid_argument("{} without --peer, expected --peer COMMAND", benchmark);
  if (settings.data.empty()) {
    if (inputs.files.empty() || inputs.files_optional) return {};
    return invalid_argument("{} needs {}: expected --data DIRECTORY with published data sets",
                            benchmark, fmt::join(inputs.files, ", "));
  }
  if (!fs::is_directory(settings.data))
    return not_found("--data: no directory {}", settings.data.string());
  std::vector<std::string> missing;
  for (const std::string_view file : inputs.files)
    if (!fs::exists(settings.data / file)) missing.push_back((settings.data / file).string());
  if (missing.empty()) return {};
  return not_found("no file {}, expected in --data by {}", fmt::join(missing, ", "), benchmark);
}

}  // namespace pando::bench
