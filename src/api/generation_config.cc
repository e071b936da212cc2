#include "pando/generation_config.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "base/errors.h"
#include "base/fields.h"
#include "base/gguf.h"
#include "base/json.h"
#include "text/json_file.h"

namespace pando {
namespace {

namespace fs = std::filesystem;
using json = Json;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// A field that may change answers, but that Pando lacks.
struct NotOffered {
  std::string_view name;
  double neutral = kNone;  // the number that changes nothing; kNone: there is none
};

// Each field of transformers' GenerationConfig is in this table, in the next one, or an option of
// requests. null, false, and an empty list, object or text change nothing.
constexpr NotOffered kNotOffered[] = {
    // length; the command or the request sets the maximum
    {"max_new_tokens"},
    {"max_length", 20},
    {"min_length", 0},
    {"max_time"},
    // search
    {"num_beams", 1},
    {"num_beam_groups", 1},
    {"num_return_sequences", 1},
    {"penalty_alpha", 0},
    {"dola_layers"},
    {"constraints"},
    {"force_words_ids"},
    {"token_healing"},
    // logits
    {"typical_p", 1},
    {"top_h"},
    {"epsilon_cutoff", 0},
    {"eta_cutoff", 0},
    {"encoder_repetition_penalty", 1},
    {"no_repeat_ngram_size", 0},
    {"encoder_no_repeat_ngram_size", 0},
    {"bad_words_ids"},
    {"sequence_bias"},
    {"suppress_tokens"},
    {"begin_suppress_tokens"},
    {"forced_bos_token_id"},
    {"forced_eos_token_id"},
    {"forced_decoder_ids"},
    {"exponential_decay_length_penalty"},
    {"guidance_scale", 1},
    {"watermarking_config"},
};

// Fields for speed, memory, reports, or other kinds of models.
constexpr std::string_view kWithoutEffect[] = {
    "transformers_version", "use_cache", "cache_implementation", "cache_config",
    "return_legacy_cache", "max_cache_len", "prefill_chunk_size", "low_memory", "compile_config",
    "disable_compile", "continuous_batching_config",
    // only for beams, which "num_beams" and "num_beam_groups" ask for
    "early_stopping", "length_penalty", "diversity_penalty",
    // for logits that are not numbers, or for sums that every draw makes 1
    "remove_invalid_values", "renormalize_logits",
    // drafts
    "use_mtp", "is_assistant", "num_assistant_tokens", "num_assistant_tokens_schedule",
    "assistant_confidence_threshold", "prompt_lookup_num_tokens", "max_matching_ngram_size",
    "assistant_early_exit", "assistant_lookbehind", "target_lookbehind",
    "assistant_ensemble_weight", "speculation_type",
    // reports
    "output_attentions", "output_hidden_states", "output_scores", "output_logits",
    "return_dict_in_generate",
    // tokens that the tokenizer defines, or that begin the answers of an encoder-decoder model
    "pad_token_id", "bos_token_id", "decoder_start_token_id"};

// Fields with their own code.
constexpr const char *kDoSample = "do_sample", *kEos = "eos_token_id", *kStop = "stop_strings";

// Keys of GGUF and the options that they set.
constexpr std::pair<std::string_view, std::string_view> kGgufOptions[] = {
    {"temp", "temperature"},
    {"top_k", "top_k"},
    {"top_p", "top_p"},
    {"min_p", "min_p"},
    {"penalty_repeat", "repetition_penalty"}};
// Number of tokens that the penalty looks at: -1 all, as in Pando; 0 none.
constexpr std::string_view kPenaltyWindow = "penalty_last_n";
constexpr NotOffered kGgufNotOffered[] = {
    {"sequence"}, {kPenaltyWindow, -1}, {"xtc_probability", 0}, {"mirostat", 0}};
// Parameters of the last two.
constexpr std::string_view kGgufWithoutEffect[] = {"xtc_threshold", "mirostat_tau", "mirostat_eta"};
constexpr std::string_view kGgufPrefix = "general.sampling.";

bool is_neutral(const json& value, double neutral) {
  if (value.is_number()) return value.get<double>() == neutral;
  if (value.is_string()) return value.get_ref<const std::string&>().empty();
  return value.is_null() || value == false || (value.is_structured() && value.empty());
}

// Adds a field that may change answers, or an unknown one.
void note_not_offered(const std::string& name, const json& value,
                      std::span<const NotOffered> not_offered,
                      std::span<const std::string_view> without_effect, GenerationConfig& config) {
  if (std::ranges::find(without_effect, name) != without_effect.end()) return;
  const auto row = std::ranges::find(not_offered, name, &NotOffered::name);
  if (!is_neutral(value, row == not_offered.end() ? kNone : row->neutral))
    config.not_offered.push_back(fmt::format("{} {}", one_line(name), found_text(value)));
}

const RequestOption& option_named(std::string_view name) {
  return *std::ranges::find(request_options(), name, &RequestOption::name);
}

// A whole number if the option is one. For top_k, -1 means 0, as in requests.
std::optional<double> value_of(const RequestOption& option, const json& value) {
  const bool is_integer = std::holds_alternative<int SamplingOptions::*>(option.member);
  if (!value.is_number() || (is_integer && !is_whole(value))) return std::nullopt;
  const double number = value.get<double>();
  if (option.member == OptionMember(&SamplingOptions::top_k) && number == -1) return 0;
  return option.holds(number) ? std::optional(number) : std::nullopt;
}

std::string expected_of(const RequestOption& option) {
  const bool is_integer = std::holds_alternative<int SamplingOptions::*>(option.member);
  return fmt::format("{}{}", is_integer ? "an integer, " : "", option.expected);
}

// Sets the temperature where the file names none, or one that do_sample makes void.
void read_do_sample(Fields& fields, GenerationConfig& config) {
  if (!fields.has(kDoSample)) return;
  const RequestOption& temperature = option_named("temperature");
  const bool samples = fields.boolean(kDoSample, false);
  if (!samples)
    std::erase_if(config.options,
                  [](const auto& one) { return one.first->stands_in(kInSamplingConfig); });
  const auto is_named = [&](const auto& one) { return one.first == &temperature; };
  if (std::ranges::none_of(config.options, is_named))
    config.options.emplace_back(&temperature, samples ? 1 : 0);
}

void read_stop(Fields& fields, GenerationConfig& config) {
  constexpr size_t kMost = 64, kMostBytes = 4096;  // as in requests
  fields.texts(kStop, config.stop);
  size_t n_bytes = 0;
  bool has_empty = false;
  for (const std::string& text : config.stop) {
    n_bytes += text.size();
    has_empty = has_empty || text.empty();
  }
  if (has_empty || config.stop.size() > kMost || n_bytes > kMostBytes)
    fields.refuse(kStop, fmt::format("up to {} texts of one character or more, of up to {} bytes "
                                     "in all",
                                     kMost, kMostBytes));
}

void read_eos(Fields& fields, GenerationConfig& config) {
  const json* eos = fields.find(kEos);
  if (eos == nullptr) return;
  const json list = eos->is_array() ? *eos : json::array({*eos});
  for (const json& id : list) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > INT32_MAX)
      return fields.refuse(kEos, "a token id, or an array of token ids");
    config.eos.push_back(id.get<Token>());
  }
}

Result<GenerationConfig> read_json(const ModelPath& path) {
  const Result<json> object = read_json_file(path);
  if (!object) return object.error();
  if (!object->is_object())
    return bad_file("'{}' is {}, expected an object", path.string(), found_text(*object));
  Fields fields(*object, path.string());
  GenerationConfig config{.source = path.path().filename().string()};
  std::vector<std::string_view> known = {kDoSample, kEos, kStop};
  for (const RequestOption& option : request_options()) {
    if (!option.stands_in(kInConfig | kInSamplingConfig)) continue;
    known.emplace_back(option.config_name);
    const json* value = fields.find(option.config_name);
    if (value == nullptr) continue;
    if (const std::optional<double> number = value_of(option, *value))
      config.options.emplace_back(&option, *number);
    else
      fields.refuse(option.config_name, expected_of(option));
  }
  read_do_sample(fields, config);
  read_stop(fields, config);
  read_eos(fields, config);
  known.insert(known.end(), std::begin(kWithoutEffect), std::end(kWithoutEffect));
  for (const auto& [name, value] : object->items())
    if (!name.starts_with('_')) note_not_offered(name, value, kNotOffered, known, config);
  if (Status status = fields.status(); !status) return status.error();
  return config;
}

// Rounds a 32-bit number to its shortest decimals, as in a generation_config.json.
double decimal(double value) {
  const auto narrow = static_cast<float>(value);
  return narrow == value ? std::stod(fmt::format("{}", narrow)) : value;
}

json gguf_value(const GgufFile& file, std::string_view key) {
  if (const auto integer = file.integer(key); integer && *integer) return **integer;
  if (const auto real = file.real(key); real && *real && std::isfinite(**real))
    return decimal(**real);
  if (const auto text = file.string(key); text && *text) return std::string(**text);
  return json::array({"..."});  // never neutral
}

Result<GenerationConfig> read_gguf(const ModelPath& path) {
  const auto opened = path.gguf();
  if (!opened) return opened.error();
  const GgufFile& file = **opened;
  const std::vector<std::string_view> keys = file.keys(kGgufPrefix);
  if (keys.empty())
    return in_file(
        path.string(),
        not_found("has no keys {}*, which a generation_config.json becomes in a GGUF file",
                  kGgufPrefix));
  GenerationConfig config{.source = path.path().filename().string()};
  bool penalises = true;
  for (const std::string_view key : keys) {
    const std::string name(key.substr(kGgufPrefix.size()));
    const json value = gguf_value(file, key);
    if (name == kPenaltyWindow && value == 0) {
      penalises = false;
      continue;
    }
    const auto* const row =
        std::ranges::find(kGgufOptions, name, [](const auto& one) { return one.first; });
    if (row == std::end(kGgufOptions)) {
      note_not_offered(name, value, kGgufNotOffered, kGgufWithoutEffect, config);
      continue;
    }
    const RequestOption& option = option_named(row->second);
    const std::optional<double> number = value_of(option, value);
    if (!number) return file.wrong(key, expected_of(option));
    config.options.emplace_back(&option, *number);
  }
  const RequestOption* penalty = &option_named("repetition_penalty");
  if (!penalises) std::erase_if(config.options, [=](auto& one) { return one.first == penalty; });
  return config;
}

}  // namespace

void apply_option(const RequestOption& option, double value, SamplingOptions& sampling) {
  set_option_number(option, value, sampling);
  if (option.member == OptionMember(&SamplingOptions::min_tokens))
    sampling.min_tokens = std::min(sampling.min_tokens, sampling.max_tokens);
}

void GenerationConfig::apply_to(SamplingOptions& sampling) const {
  for (const auto& [option, value] : options) apply_option(*option, value, sampling);
  if (!stop.empty()) sampling.stop = stop;
  if (!eos.empty()) sampling.stop_tokens = eos;
}

Result<GenerationConfig> read_generation_config(const ModelPath& path) {
  std::error_code failure;
  if (fs::is_directory(path.path(), failure)) return read_json(path / "generation_config.json");
  return path.path().extension() == ".json" ? read_json(path) : read_gguf(path);
}

Result<GenerationConfig> read_generation_config(const fs::path& path) {
  return read_generation_config(ModelPath(path));
}

}  // namespace pando
