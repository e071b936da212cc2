#include "cli/run_settings.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/print_stderr.h"
#include "pando/model_files.h"
#include "pando/sharing.h"
#include "pando/version.h"

namespace pando::cli {
namespace {

namespace fs = std::filesystem;

std::string hex(uint64_t value) { return fmt::format("{:016x}", value); }

// Of all its bytes; a pipe has none that could be read again.
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

// Of a file its hash, else the name.
std::string chat_template_text(const std::string& choice) {
  std::error_code error;
  return fs::is_regular_file(choice, error) ? hash_of_file(choice) : choice;
}

// Where chat templates write it.
std::string date_text(const ChatOptions& options, const Model& model) {
  const std::string day = model.chat_day();
  if (day.empty() || !options.now) return day;
  return fmt::format("{:04}-{:02}-{:02}", options.now->year, options.now->month, options.now->day);
}

}  // namespace

Status take_generation_config(RunOptions& o) {
  if (!o.generation_config) return {};
  const Result<fs::path> path = model_path(o.model);
  if (!path) return path.error();
  const Result<std::string> said =
      apply_generation_config(*path, o.given, o.batch.defaults.sampling);
  if (!said) return said.error();
  print_stderr("pando: {}\n", *said);
  return {};
}

Result<AnswerFile::Settings> run_settings(const RunOptions& o, const Engine& engine) {
  const Result<fs::path> path = model_path(o.model);
  if (!path) return path.error();
  Result<uint64_t> model = model_fingerprint(*path);
  if (!model) return model.error();
  std::string model_text = hex(*model);
  if (!o.model.tokenizer.empty()) {
    const Result<fs::path> tokenizer = tokenizer_path(o.model);
    if (!tokenizer) return tokenizer.error();
    const Result<uint64_t> hash = model_fingerprint(*tokenizer);
    if (!hash) return hash.error();
    model_text += "+" + hex(*hash);
  }
  const char* tasks[] = {"answer", "embed", "rerank", "score"};
  const EmbedOptions& e = o.batch.embed;
  const RerankOptions& r = o.batch.rerank;
  const AnswerOptions& a = o.batch.defaults;
  const SamplingOptions& s = a.sampling;
  const char* formats[] = {"jsonl", "csv", "tsv"};
  const auto flag = [](bool set) { return set ? "yes" : "no"; };
  const auto list = [](const auto& values) {
    return nlohmann::json(values).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  };
  const Result<SharingInfo> sharing = sharing_info(o.model.engine.sharing);
  if (!sharing) return sharing.error();
  return AnswerFile::Settings{
      {"version", version()},
      {"model", model_text},
      {"weights", fmt::format("{} ({})", o.model.weights, engine.model().info().weight_type)},
      {"kv-dtype", o.model.kv_dtype},
      {"sharing", sharing->exact ? "exact" : o.model.engine.sharing},
      {"instruction set", engine.options().isa},
      {"context", std::to_string(engine.options().context)},
      {"input", hash_of_file(o.input)},
      {"task", tasks[static_cast<int>(o.batch.task)]},
      {"pooling", e.pooling == Pooling::kMean ? "mean" : "last"},
      {"normalize", flag(e.normalise.value_or(true))},
      {"dimensions", std::to_string(e.dimensions)},
      {"embed instruction",
       list(std::vector{e.instruction, e.prompt_template, e.prompt.value_or("")})},
      {"rerank prompt", list(std::vector{r.instruction, r.prompt_template, r.yes, r.no})},
      {"top", std::to_string(o.batch.top)},
      {"format", formats[static_cast<int>(o.batch.format)]},
      {"columns", list(o.batch.columns)},
      {"with", list(o.with)},
      {"too-long", o.too_long},
      {"seed", std::to_string(o.model.engine.seed)},
      {"instruction", a.instruction},
      {"template", a.prompt_template.value_or("the default")},
      {"choices", list(a.choices)},
      {"special-tokens", flag(a.add_special_tokens.value_or(true))},
      {"chat", flag(a.chat)},
      {"thinking", flag(a.chat_options.thinking)},
      {"chat-template", chat_template_text(o.model.chat_template)},
      {"date", date_text(a.chat_options, engine.model())},
      {"max-tokens", std::to_string(s.max_tokens)},
      {"temperature", fmt::format("{}", s.temperature)},
      {"top-k", std::to_string(s.top_k)},
      {"top-p", fmt::format("{}", s.top_p)},
      {"min-p", fmt::format("{}", s.min_p)},
      {"repetition-penalty", fmt::format("{}", s.repetition_penalty)},
      {"presence-penalty", fmt::format("{}", s.presence_penalty)},
      {"frequency-penalty", fmt::format("{}", s.frequency_penalty)},
      {"n", std::to_string(s.n)},
      {"stop", list(s.stop)},
      {"stop tokens", list(s.stop_tokens)},
      {"ignore-eos", flag(s.ignore_eos)},
      {"logprobs", flag(s.logprobs)},
      {"top-logprobs", std::to_string(s.top_logprobs)},
      {"prompt-logprobs", flag(a.prompt_logprobs)},
      {"logits-hash", flag(a.logits_hash)},
  };
}

}  // namespace pando::cli
