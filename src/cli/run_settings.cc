#include "cli/run_settings.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <fstream>
#include <memory>

#include "base/json.h"
#include "cli/answer_options.h"
#include "cli/print_stderr.h"
#include "pando/values/sharing.h"
#include "pando/version.h"

namespace pando::cli {
namespace {

namespace fs = std::filesystem;

std::string hex(uint64_t value) { return fmt::format("{:016x}", value); }

// Hashes all its bytes; a pipe has none that could be read again.
std::string hash_of_file(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return "pipe";
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  XXH3_64bits_reset(state.get());
  std::ifstream file(path, std::ios::binary);
  std::string buffer(size_t{1} << 20, '\0');
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), file.gcount() > 0)
    XXH3_64bits_update(state.get(), buffer.data(), static_cast<size_t>(file.gcount()));
  return hex(XXH3_64bits_digest(state.get()));
}

const char* yes_or_no(bool set) { return set ? "yes" : "no"; }

template <class T>
std::string json_text(const T& value) {
  return Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The values of options of the command line; nothing of a type that none of these has.
std::string value_text(bool value) { return yes_or_no(value); }
std::string value_text(int value) { return std::to_string(value); }
std::string value_text(double value) { return fmt::format("{}", value); }
std::string value_text(const std::vector<std::string>& value) { return json_text(value); }
template <class T>
std::string value_text(const T& /*value*/) {
  return {};
}

void add_option_settings(const SamplingOptions& sampling, AnswerFile::Settings& settings) {
  for (const RequestOption& option : request_options()) {
    if (!option.stands_in(kInCommand)) continue;
    const auto text = [&](const SamplingOptions& of) {
      return std::visit([&](auto member) { return value_text(of.*member); }, option.member);
    };
    if (option.stands_in(kInJournal) || text(sampling) != text({}))
      settings.emplace_back(dashed(option), text(sampling));
  }
}

// Returns the hash of a file, else the name.
std::string chat_template_text(const std::string& choice) {
  std::error_code error;
  return fs::is_regular_file(choice, error) ? hash_of_file(choice) : choice;
}

// Returns the date where chat templates write it.
std::string date_text(const ChatOptions& options, const Model& model) {
  const std::string day = model.chat_day();
  if (day.empty() || !options.now) return day;
  return fmt::format("{:04}-{:02}-{:02}", options.now->year, options.now->month, options.now->day);
}

}  // namespace

Status take_generation_config(RunOptions& o) {
  o.model.quiet = o.quiet;
  if (o.batch.task != BatchTask::kAnswer) return {};
  const Result<fs::path> path = model_path(o.model);
  if (!path) return path.error();
  o.model.files = ModelPath(*path);
  const Result<std::optional<GenerationConfig>> config =
      find_defaults(o.generation, *o.model.files);
  if (!config) return config.error();
  if (!*config) return {};
  const std::string said =
      take_defaults(**config, o.given, "temperature 0", o.batch.defaults.sampling);
  if (!o.quiet || !(*config)->not_offered.empty()) print_stderr("pando: {}\n", said);
  return {};
}

Result<AnswerFile::Settings> run_settings(const RunOptions& o, const Engine& engine) {
  const Result<std::string> files = files_fingerprint(o.model);
  if (!files) return files.error();
  const char* tasks[] = {"answer", "embed", "rerank", "score", "classify"};
  const EmbedOptions& e = o.batch.embed;
  const RerankOptions& r = o.batch.rerank;
  const AnswerOptions& a = o.batch.defaults;
  const char* formats[] = {"jsonl", "csv", "tsv"};
  const Result<SharingInfo> sharing = sharing_info(o.model.engine.sharing);
  if (!sharing) return sharing.error();
  AnswerFile::Settings settings{
      {"version", version()},
      {"model", *files},
      {"weights", fmt::format("{} ({})", o.model.weights, engine.model().info().weight_type)},
      {"kv-dtype", o.model.kv_dtype},
      {"sharing", sharing->exact ? "exact" : o.model.engine.sharing},
      {"instruction set", engine.options().isa},
      {"context", std::to_string(engine.options().context)},
      {"input", hash_of_file(o.input)},
      {"task", tasks[static_cast<int>(o.batch.task)]},
      {"pooling", fmt::format("{}{}", pooling_name(e),
                              e.include_prompt ? "" : " without the prompt")},
      {"normalize", yes_or_no(e.normalise.value_or(true))},
      {"dimensions", std::to_string(e.dimensions)},
      {"embed instruction",
       json_text(std::vector{e.instruction, e.prompt_template, e.prompt.value_or("")})},
      {"rerank prompt",
       json_text(std::vector{r.instruction.value_or(RerankOptions::default_instruction()),
                             r.prompt_template, r.yes.value_or("yes"), r.no.value_or("no")})},
      {"top", std::to_string(o.batch.top)},
      {"format", formats[static_cast<int>(o.batch.format)]},
      {"columns", json_text(o.batch.columns)},
      {"with", json_text(o.with)},
      {"too-long", o.too_long},
      {"seed", std::to_string(o.model.engine.seed)},
      {"instruction", a.instruction},
      {"template", a.prompt_template.value_or("the default")},
      {"choices", json_text(a.choices)},
      {"special-tokens", yes_or_no(a.add_special_tokens.value_or(true))},
      {"chat", yes_or_no(a.chat)},
      {"thinking", yes_or_no(a.chat_options.thinking)},
      {"chat-template", chat_template_text(o.model.chat_template)},
      {"date", date_text(a.chat_options, engine.model())},
      {"stop tokens", json_text(a.sampling.stop_tokens)},
      {"prompt-logprobs", yes_or_no(a.prompt_logprobs)},
      {"logits-hash", yes_or_no(a.logits_hash)},
  };
  add_option_settings(a.sampling, settings);
  if (e.output != EmbedOptions().output)
    settings.emplace_back("vectors", std::to_string(static_cast<int>(e.output)));
  if (const ClassifyOptions& c = o.batch.classify; o.batch.task == BatchTask::kClassify)
    settings.emplace_back("labels", fmt::format("{} {} {}", static_cast<int>(c.scores), c.top,
                                                static_cast<int>(c.aggregation)));
  if (o.model.tool_format != "auto") settings.emplace_back("tool-format", o.model.tool_format);
  if (a.sampling.form) settings.emplace_back("schema", a.sampling.form->text);
  return settings;
}

}  // namespace pando::cli
