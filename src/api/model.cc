#include "pando/model.h"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "api/model.h"
#include "api/model_parts.h"
#include "api/ranks.h"
#include "base/errors.h"
#include "base/failures.h"
#include "base/fp_state.h"
#include "base/machine.h"
#include "base/numbers/weight_types.h"
#include "base/thread_pool.h"
#include "engine/options.h"
#include "model/family.h"
#include "model/passed_over.h"
#include "text/calls/learn_calls.h"
#include "text/special_tokens.h"
#include "text/stream_decoder.h"

namespace pando {

namespace {

// A tokenizer may have this share of a model's vocabulary as tokens that the model lacks: Gemma 3
// has one. With more of them it is that of another model.
constexpr int kMoreTokens = 16;

// The files, and the weights unless options.weights is kNone.
Result<LoadedShare> load_weights(const ModelPath& path, const ModelOptions& options,
                                 const Device& device, int threads) {
  ThreadPool pool(threads);
  if (options.weights != WeightType::kNone && options.ranks != nullptr) {
    Ranks::Impl& ranks = options.ranks->impl();
    if (ranks.loading != Ranks::Impl::Loading::kNotYet)
      return invalid_argument(
          "the processes of this run have loaded a model already, expected only one in a run");
    return load_share(path, options, pool, ranks);
  }
  Result<model::OpenedModel> opened = open_files(path);
  if (!opened) return opened.error();
  LoadedShare loaded{.files = std::make_unique<model::OpenedModel>(std::move(*opened))};
  if (options.weights == WeightType::kNone) return loaded;
  Result<std::unique_ptr<DeviceModel>> weights = device.load(
      loaded.files->config, *loaded.files, {.requantised = made_type(options.weights)}, pool);
  if (!weights) return weights.error();
  loaded.weights = std::move(*weights);
  return loaded;
}

Error no_memory_for(const ModelPath& path, const ModelOptions& options, const Device& device) {
  std::string shortage;
  try {
    if (const Result<model::OpenedModel> opened = model::OpenedModel::open(path); opened.ok())
      shortage = shortage_text(device.weight_bytes(opened->config, *opened,
                                                   {.requantised = made_type(options.weights)}));
  } catch (const std::bad_alloc&) {  // then the message has no numbers
  }
  return make_error(ErrorCode::kUnavailable, "not enough memory for the weights of '{}'{}{}",
                    path.string(), shortage.empty() ? "" : ": about ", shortage);
}

Status find_calls(const Result<ChatTemplate>& chat, const std::string& name,
                  std::optional<calls::CallFormat>& out) {
  if (name.empty()) {
    if (chat) out = calls::learn_calls(*chat);
    return {};
  }
  Result<calls::CallFormat> named =
      chat ? calls::named_calls(name, *chat) : calls::call_format_named(name);
  if (!named) return blame("tool_format", named.error());
  out = std::move(*named);
  return {};
}

}  // namespace

// The tokenizer reads generation_config.json too, but may come from elsewhere.
Result<model::OpenedModel> open_files(const ModelPath& path) {
  Result<model::OpenedModel> opened = model::OpenedModel::open(path);
  std::error_code failure;
  if (!opened || !std::filesystem::is_directory(path.path(), failure)) return opened;
  Status status = read_end_ids(path / "generation_config.json", &opened->config.eos_ids);
  if (!status) return status.error();
  return opened;
}

Model::Model(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Model::~Model() = default;

Result<std::shared_ptr<const Model>> Model::load(const std::filesystem::path& directory,
                                                 const ModelOptions& options) {
  return load(ModelPath(directory), options);
}

Result<std::shared_ptr<const Model>> Model::load(const ModelPath& directory,
                                                 const ModelOptions& options) {
  int threads = options.threads;
  if (Status status = fill_in_threads(threads); !status) return status.error();
  const Result<const Device*> device = find_device(options.device);
  if (!device) return device.error();
  FpStateGuard fp_state;  // decimal fractions of the configuration are rounded here
  try {
    return load_parts(directory, options, **device, threads);
  } catch (const std::bad_alloc&) {
    return no_memory_for(directory, options, **device);
  } catch (const std::system_error& error) {
    return cannot_start(fmt::format("{} threads", threads), error.what());
  } catch (const std::exception& error) {
    return in_file(directory.string(),
                   make_error(ErrorCode::kInternal, "cannot be loaded: {}", error.what()));
  }
}

namespace {

// Reads a classifier's head. Its tensors then do not count as unread parts.
Result<std::optional<model::ClassifierHead>> take_head(const ModelPath& directory,
                                                       model::OpenedModel& files) {
  auto head = model::read_classifier_head(directory, files);
  if (!head || !*head) return head;
  auto passed_over = model::passed_over_parts(files.config, files.checkpoint, (*head)->tensors);
  if (!passed_over) return passed_over.error();
  files.passed_over = std::move(*passed_over);
  return head;
}

}  // namespace

Result<std::shared_ptr<const Model>> Model::load_parts(const ModelPath& directory,
                                                       const ModelOptions& options,
                                                       const Device& device, int threads) {
  Result<LoadedShare> loaded_weights = load_weights(directory, options, device, threads);
  if (!loaded_weights) return loaded_weights.error();
  const model::ModelConfig& config = loaded_weights->files->config;
  std::unique_ptr<Tokenizer> tokenizer;
  const bool own = options.tokenizer.empty();
  const ModelPath of_tokenizer = own ? directory : directory.at(options.tokenizer);
  Result<std::unique_ptr<Tokenizer>> loaded = Tokenizer::load(of_tokenizer);
  if (loaded) {
    tokenizer = std::move(*loaded);
    const int vocab = config.vocab;
    if (const int most = vocab + vocab / kMoreTokens; tokenizer->vocab_size() > most)
      return in_file(
          of_tokenizer.string(),
          bad_file(
              "the tokenizer has {} tokens, expected at most {} for the model's vocabulary of {}",
              tokenizer->vocab_size(), most, vocab));
  } else if (!own || loaded.error().code != ErrorCode::kNotFound) {
    return loaded.error();
  }
  Result<ChatTemplate> chat =
      tokenizer != nullptr ? ChatTemplate::load(of_tokenizer, *tokenizer, options.chat_template)
                           : unsupported("the model has no tokenizer, so it has no chat template");
  if (!chat && !options.chat_template.empty()) return chat.error();
  std::unique_ptr<grammar::FormCache> forms;
  if (tokenizer != nullptr)
    forms = std::make_unique<grammar::FormCache>(*tokenizer, grammar::kMostFormBytes,
                                                 static_cast<size_t>(config.vocab));
  AnswerFormat answers;
  if (tokenizer != nullptr) answers.channels = find_channel_tokens(*tokenizer);
  const std::string tool_format = options.tool_format == "auto" ? "" : options.tool_format;
  if (Status status = find_calls(chat, tool_format, answers.calls); !status) return status.error();
  if (answers.calls && tokenizer != nullptr) {
    answers.call_forms = std::make_shared<calls::CallForms>(forms.get(), *answers.calls);
    answers.opening = find_opening(*tokenizer, *answers.calls);
  }
  auto head = take_head(directory, *loaded_weights->files);
  auto parts = std::make_unique<Parts>(
      Parts{std::move(loaded_weights->files), &device, std::move(loaded_weights->weights),
            std::move(tokenizer), std::move(chat), model::read_embedding_form(directory),
            model::read_rerank_form(directory), std::move(head), std::move(forms),
            std::move(answers), options.ranks, tool_format, std::move(loaded_weights->warnings)});
  return std::shared_ptr<const Model>(new Model(std::move(parts)));
}

Result<std::shared_ptr<const Model>> load_for_timing(const std::filesystem::path& path,
                                                     const ModelOptions& options) {
  Result<std::shared_ptr<const Model>> model = Model::load(path, options);
  if (model) (*model)->parts_->all_rows = true;
  return model;
}

Status Model::check_form(const TextForm& form) const {
  if (parts_->forms == nullptr)
    return unsupported("the model has no tokenizer, so an answer cannot have a form");
  const auto masks = parts_->forms->get(form);
  return masks ? Status() : masks.error();
}

std::vector<std::string> Model::form_warnings(const TextForm& form) const {
  if (parts_->forms == nullptr || form.kind != TextForm::Kind::kJsonSchema) return {};
  return parts_->forms->warnings_of(form);
}

ModelInfo Model::info() const {
  const model::ModelConfig& config = parts_->files->config;
  const DeviceModel* weights = parts_->weights.get();
  std::vector<std::string> warnings, notes;
  if (has_tokenizer()) {
    const std::span<const std::string> of_tokenizer = parts_->tokenizer->warnings();
    warnings.assign(of_tokenizer.begin(), of_tokenizer.end());
  }
  if (weights != nullptr)
    for (std::string& warning : weights->device().warnings())
      warnings.push_back(std::move(warning));
  warnings.insert(warnings.end(), parts_->rank_warnings.begin(), parts_->rank_warnings.end());
  if (parts_->ranks != nullptr && parts_->ranks->impl().layout.n_ranks() > 1)
    notes.push_back(parts_->ranks->impl().layout.division());
  if (const std::vector<std::string>& parts = parts_->files->passed_over; !parts.empty())
    notes.push_back(
        fmt::format("{}: these parts are not loaded, because text does not need them: {}",
                    parts_->files->file(), fmt::join(parts, ", ")));
  if (has_tokenizer() && parts_->tokenizer->vocab_size() > config.vocab)
    notes.push_back(fmt::format(
        "the tokenizer has {} tokens and the model {}; prompts with one of the others are refused",
        parts_->tokenizer->vocab_size(), config.vocab));
  if (const auto& quantization = config.quantization;
      quantization && (quantization->has_activations || quantization->has_keys_and_values))
    warnings.push_back(
        fmt::format("{}: the quantisation of {} is ignored, because Pando quantises only weights",
                    parts_->files->file(),
                    !quantization->has_keys_and_values ? "activations"
                    : quantization->has_activations    ? "activations, keys and values"
                                                       : "keys and values"));
  return {.family = config.family->name,
          .n_parameters = config.n_parameters(),
          .n_layers = config.n_layers(),
          .d_model = config.d_model,
          .vocab = config.vocab,
          .max_positions = config.max_positions,
          .weight_type = weights == nullptr ? "none" : weights->weight_type(),
          .weight_bytes = weights == nullptr ? 0 : weights->weight_bytes(),
          .gives_logits = !config.both_ways,
          .warnings = std::move(warnings),
          .notes = std::move(notes)};
}

bool Model::has_tokenizer() const { return parts_->tokenizer != nullptr; }

Result<std::vector<Token>> Model::encode(std::string_view text, bool add_bos) const {
  if (!has_tokenizer())
    return unsupported(
        "the model has no tokenizer, expected one beside its weights or the option "
        "'tokenizer'");
  return parts_->tokenizer->encode(text, add_bos);
}

std::string Model::prompt_warning() const {
  const Tokenizer* tokenizer = parts_->tokenizer.get();
  if (tokenizer == nullptr || tokenizer->n_behind() == 0) return {};
  const Result<std::vector<Token>> around = tokenizer->encode("", /*add_bos=*/true);
  if (!around || around->empty()) return {};
  const Token last = around->back();
  const std::span<const Token> ends = tokenizer->end_tokens();
  if (std::find(ends.begin(), ends.end(), last) == ends.end()) return {};
  return fmt::format("the tokenizer adds the end token '{}' ({}) to the end of each prompt",
                     tokenizer->token_bytes(last, /*skip_special=*/false), last);
}

Result<std::string> Model::decode(std::span<const Token> tokens) const {
  if (!has_tokenizer()) return unsupported("the model directory has no tokenizer");
  return pando::decode(*parts_->tokenizer, tokens, /*skip_special=*/true);
}

Result<std::string> Model::piece(Token token) const {
  if (!has_tokenizer()) return unsupported("the model directory has no tokenizer");
  return decode_piece(*parts_->tokenizer, token);
}

Result<std::string> Model::render_chat(std::span<const ChatMessage> messages,
                                       const ChatOptions& options) const {
  if (!parts_->chat) return parts_->chat.error();
  return parts_->chat->render(messages, options);
}

std::string Model::chat_day() const { return parts_->chat ? parts_->chat->day() : std::string(); }

}  // namespace pando
