#include "cli/model_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "base/errors.h"
#include "cli/model_source.h"
#include "cli/print_stderr.h"
#include "cli/ranks.h"
#include "pando/devices.h"
#include "pando/model_files.h"
#include "pando/tools.h"
#include "pando/values/limits.h"

namespace pando::cli {
namespace {

constexpr const char* kGroup = "Model and engine";

std::vector<std::string> names_of_weights() {
  const std::vector<std::string_view> names = weight_type_names();
  return {names.begin(), names.end()};
}

// Reads "4GiB", "1.5g" or "1000": a number, then nothing, b, or one of kmgtpe with b, i, ib or
// neither.
std::optional<uint64_t> bytes_of(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || std::signbit(number)) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  std::string unit = CLI::detail::to_lower(std::string(text));
  CLI::detail::trim(unit);
  constexpr std::string_view kLetters = "kmgtpe";
  if (const size_t at = unit.empty() ? std::string::npos : kLetters.find(unit[0]);
      at == std::string::npos) {
    if (number != std::floor(number)) return std::nullopt;  // "1.5", whose unit was forgotten
  } else {
    number = std::ldexp(number, 10 * (static_cast<int>(at) + 1));
    unit.erase(0, unit.size() > 1 && unit[1] == 'i' ? 2 : 1);
  }
  if (!unit.empty() && unit != "b") return std::nullopt;
  // 0 stands for a default, so no other number may become 0.
  const bool is_size = number == 0 || (number >= 1 && number < std::ldexp(1.0, 64));
  if (!is_size) return std::nullopt;
  return static_cast<uint64_t>(number);
}

// In the repository beside the build directory, or where it is installed.
Result<std::filesystem::path> demo_model() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path places[] = {program / "../models/demo", program / "../share/pando/models/demo"};
  for (const fs::path& place : places)
    if (fs::exists(place / "config.json", error)) return fs::canonical(place, error);
  return not_found("no --model given, and the demo model is neither in {} nor in {}",
                   places[0].lexically_normal().string(), places[1].lexically_normal().string());
}

}  // namespace

CLI::Validator not_empty(const std::string& expected) {
  return CLI::Validator(
      [expected](const std::string& text) {
        return text.empty() ? "is empty, expected " + expected : std::string();
      },
      "", "");
}

CLI::Validator size_in_bytes() {
  return CLI::Validator(
      [](std::string& text) {
        const std::optional<uint64_t> n = bytes_of(text);
        if (!n) return text + ", expected a size such as 4GiB";
        text = std::to_string(*n);
        return std::string();
      },
      "SIZE", "");
}

CLI::Validator one_of(std::vector<std::string> names) {
  const std::string all = fmt::format("{{{}}}", fmt::join(names, ","));
  return CLI::Validator(
      [names = std::move(names)](const std::string& text) {
        const std::vector<std::string_view> known(names.begin(), names.end());
        return std::ranges::find(known, text) != known.end()
                   ? std::string()
                   : fmt::format("{}, expected {}", text, one_of_these(known));
      },
      all, "");
}

CLI::Validator expect(const std::string& what, std::function<bool(double)> holds) {
  return CLI::Validator(
      [=](std::string& text) {
        double value = 0;
        const bool good = CLI::detail::lexical_cast(text, value) && holds(value);
        return good ? std::string() : fmt::format("{}, expected {}", text, what);
      },
      "", "");
}

CLI::Validator at_least(int least) {
  return expect(fmt::format("at least {}", least), [least](double x) { return x >= least; });
}

CLI::Validator thread_number() {
  return expect(fmt::format("0 (one per fast processor) to {}", kMostThreads),
                [](double x) { return x >= 0 && x <= kMostThreads; });
}

std::optional<uint64_t> whole_number(std::string_view text, uint64_t least) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end || number < least) return std::nullopt;
  return number;
}

CLI::Validator seed_number() {
  return CLI::Validator(
      [](const std::string& text) {
        return whole_number(text)
                   ? std::string()
                   : fmt::format("{}, expected a whole number from 0 to 2^64 - 1", text);
      },
      "", "");
}

void add_tokenizer_options(CLI::App& app, ModelArguments& a) {
  app.add_option("--model", a.model,
                 "Model directory (config.json, safetensors, tokenizer), GGUF file, or the id of "
                 "a model on the hub: org/name, or org/name:Q4_K_M or org/name:FILE.gguf for one "
                 "of its GGUF files. What the local cache lacks is fetched (default: Pando's demo "
                 "model)")
      ->check(not_empty());
  add_revision_option(app, a.revision)->group(kGroup);
  app.add_option(
         "--tokenizer", a.tokenizer,
         "Directory, file (GGUF, tokenizer.json, tekken.json, tokenizer.model) or hub id of "
         "the tokenizer, if it is not the model's own")
      ->check(not_empty())
      ->group(kGroup);
}

CLI::Option* add_revision_option(CLI::App& app, std::string& revision) {
  return app
      .add_option("--revision", revision,
                  "Branch, tag or commit of a model that is named by its hub id (default: main)")
      ->check(CLI::Validator(
          [](const std::string& text) {
            return hub::is_revision(text)
                       ? std::string()
                       : fmt::format("'{}', expected a branch, a tag or a commit", text);
          },
          "", ""));
}

void add_chat_template_option(CLI::App& app, ModelArguments& a) {
  app.add_option(
         "--chat-template", a.chat_template,
         "File with a Jinja chat template, or the name of one of the model's chat templates")
      ->check(not_empty())
      ->group(kGroup);
}

void add_tool_format_option(CLI::App& app, ModelArguments& a) {
  const std::span<const std::string_view> names = tool_format_names();
  app.add_option("--tool-format", a.tool_format,
                 "How the model writes tool calls: auto, which is as its chat template shows, or a "
                 "named format")
      ->check(one_of({names.begin(), names.end()}))
      ->capture_default_str()
      ->group(kGroup);
}

void add_model_options(CLI::App& app, ModelArguments& a) {
  const CLI::Validator positive = at_least(1);
  const std::string group = kGroup;
  add_tokenizer_options(app, a);
  const std::vector<std::string> devices = device_names();
  if (a.device.empty()) a.device = devices.front();
  app.add_option("--device", a.device, "What computes: a name that `pando devices` lists")
      ->check(one_of(devices))
      ->capture_default_str()
      ->group(group);
  app.add_option("--weights", a.weights,
                 "Type of the weights: stored (as in the file), or converted while loading to f32, "
                 "f16, bf16, q8_0, q4_0 (8 and 4 bits in groups of 32), int8 (8 bits, one scale "
                 "per output) or bf16_dot (bf16, with activations rounded to bf16 too). Products "
                 "with q8_0, q4_0, int8 and the stored block types of GGUF round activations to "
                 "8 bits")
      ->check(one_of(names_of_weights()))
      ->capture_default_str()
      ->group(group);
  app.add_option("--kv-dtype", a.kv_dtype,
                 "Type of keys and values: f32, f16, bf16 or int8 (8 bits, one scale per position "
                 "and head; attention in integers)")
      ->check(one_of({"f32", "f16", "bf16", "int8"}))
      ->capture_default_str()
      ->group(group);
  app.add_option(
         "--kv-memory", a.engine.kv_memory,
         "Memory for keys and values, and for states of recurrent layers, such as 4GiB or 1.5g "
         "(default: half of the free memory)")
      ->transform(size_in_bytes())
      ->check(expect("a size above 0", [](double x) { return x > 0; }))
      ->group(group);
  app.add_option("--place-every", a.engine.place_every,
                 "Distance in tokens between the states of recurrent layers, or between the "
                 "sliding windows, "
                 "that are kept for cached prompts while memory allows. For windows at least four "
                 "times the "
                 "window")
      ->check(positive)
      ->capture_default_str()
      ->group(group);
  app.add_option("--context", a.engine.context,
                 "Longest sequence in tokens; 0: the model's (default)")
      ->check(expect("0 or more", [](double x) { return x >= 0; }))
      ->group(group);
  app.add_option("--threads", a.engine.threads, "Threads; 0: one per fast processor (default)")
      ->check(thread_number())
      ->group(group);
  app.add_option("--step-rows", a.engine.step_rows, "Maximum rows per forward pass")
      ->check(positive)
      ->capture_default_str()
      ->group(group);
}

void add_parallel_option(CLI::App& app, ModelArguments& a) {
  app.add_option(
         "--parallel", a.parallel,
         "Use several processes, as in replicas=2,spp=2,kvp=2,tp=2. replicas: copies of the "
         "model, between which a batch run divides its input. spp: stages of layers. kvp: "
         "parts of each prompt's keys and values. tp: processes that divide the outputs of "
         "matrices. Start with mpirun -n N, where N is the product of these")
      ->check(not_empty())
      ->group(kGroup);
}

namespace {

ModelSource source_of_model(const ModelArguments& arguments) {
  return {.name = arguments.model,
          .revision = arguments.revision,
          .has_own_tokenizer = !arguments.tokenizer.empty(),
          .may_fetch = arguments.may_fetch,
          .quiet = arguments.quiet};
}

// The model, of whose files only those of the tokenizer are fetched.
Result<std::filesystem::path> path_for_tokens(const ModelArguments& arguments) {
  if (arguments.model.empty()) return demo_model();
  ModelSource source = source_of_model(arguments);
  source.need = hub::Need::kTokenizer;
  return find_source(source);
}

}  // namespace

Result<std::filesystem::path> model_path(const ModelArguments& arguments) {
  if (arguments.model.empty() && !arguments.revision.empty())
    return invalid_argument("--revision is '{}', but no --model is given", arguments.revision);
  if (arguments.model.empty()) return demo_model();
  return find_source(source_of_model(arguments));
}

Result<std::filesystem::path> tokenizer_path(const ModelArguments& arguments) {
  return find_source({.name = arguments.tokenizer,
                      .need = hub::Need::kTokenizer,
                      .is_tokenizer = true,
                      .may_fetch = arguments.may_fetch,
                      .quiet = arguments.quiet});
}

Result<std::string> files_fingerprint(const ModelArguments& arguments) {
  const Result<std::filesystem::path> path = model_path(arguments);
  if (!path) return path.error();
  const Result<uint64_t> model = model_fingerprint(*path);
  if (!model) return model.error();
  std::string text = fmt::format("{:016x}", *model);
  if (arguments.tokenizer.empty()) return text;
  const Result<std::filesystem::path> tokenizer = tokenizer_path(arguments);
  if (!tokenizer) return tokenizer.error();
  const Result<uint64_t> hash = model_fingerprint(*tokenizer);
  if (!hash) return hash.error();
  return text + fmt::format("+{:016x}", *hash);
}

namespace {

void say_if_demo(const ModelArguments& arguments) {
  if (arguments.model.empty() && demo_model())
    print_stderr("pando: no --model given, using the demo model\n");
}

Result<std::shared_ptr<const Model>> load(const ModelArguments& arguments, WeightType weights,
                                          bool quiet) {
  if (!quiet) say_if_demo(arguments);
  const Result<std::filesystem::path> path = model_path(arguments);
  if (!path) return path.error();
  std::filesystem::path tokenizer;
  if (!arguments.tokenizer.empty()) {
    const Result<std::filesystem::path> found = tokenizer_path(arguments);
    if (!found) return found.error();
    tokenizer = *found;
  }
  const ModelPath files = arguments.files.value_or(ModelPath(*path));
  Result<std::shared_ptr<const Model>> model =
      Model::load(files, {.weights = weights,
                          .tokenizer = tokenizer,
                          .chat_template = arguments.chat_template,
                          .tool_format = arguments.tool_format,
                          .threads = arguments.engine.threads,
                          .device = arguments.device,
                          .ranks = weights == WeightType::kNone ? nullptr : joined_ranks()});
  files.close();
  if (!model) return model;
  const ModelInfo info = (*model)->info();
  for (const std::string& warning : info.warnings) print_stderr("pando: {}\n", warning);
  if (!quiet)
    for (const std::string& note : info.notes) print_stderr("pando: {}\n", note);
  return model;
}

}  // namespace

Result<std::shared_ptr<const TokenizerFiles>> load_tokenizer_files(
    const ModelArguments& arguments) {
  const bool own = arguments.tokenizer.empty();
  if (own) say_if_demo(arguments);
  const Result<std::filesystem::path> path =
      own ? path_for_tokens(arguments) : tokenizer_path(arguments);
  if (!path) return path.error();
  Result<std::shared_ptr<const TokenizerFiles>> tokenizer = TokenizerFiles::load(*path);
  if (!tokenizer) return tokenizer;
  for (const std::string& warning : (*tokenizer)->warnings()) print_stderr("pando: {}\n", warning);
  return tokenizer;
}

Result<std::shared_ptr<const Model>> load_model(const ModelArguments& arguments, bool quiet) {
  return load(arguments, weight_type_of(arguments.weights).value_or(WeightType::kAsStored), quiet);
}

Result<std::shared_ptr<const Model>> load_tokenizer(const ModelArguments& arguments, bool quiet) {
  return load(arguments, WeightType::kNone, quiet);
}

Result<int> context_of(const Model& model, const ModelArguments& arguments) {
  const int most = model.info().max_positions, context = arguments.engine.context;
  if (context > most)
    return invalid_argument("--context is {}, expected at most the model's {} positions", context,
                            most);
  return context > 0 ? context : most;
}

EngineOptions engine_options(const ModelArguments& arguments) {
  EngineOptions options = arguments.engine;
  options.kv_type = arguments.kv_dtype == "f32"    ? KvType::kF32
                    : arguments.kv_dtype == "bf16" ? KvType::kBF16
                    : arguments.kv_dtype == "int8" ? KvType::kInt8
                                                   : KvType::kF16;
  return options;
}

}  // namespace pando::cli
