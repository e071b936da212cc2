#include "pando/embed.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "api/model_access.h"
#include "api/prompt.h"
#include "base/errors.h"
#include "engine/pooling.h"
#include "task/cut_text.h"
#include "task/fill_in.h"

namespace pando {

std::string EmbedOptions::default_prompt_template() {
  return "Instruct: {instruction}\nQuery:{text}";
}

namespace {

bool has(const std::string& prompt_template, const char* field) {
  return prompt_template.find(field) != std::string::npos;
}

Status check_dimension(int stated, const Model& model) {
  const int d_model = spec_of(model).d_model;
  if (stated == 0 || stated == d_model) return {};
  return bad_file("the configuration of the model's pooling has the dimension {}, expected {}",
                  stated, d_model);
}

// Checks that each step reads vectors of the length that stands before it; n values stand before
// the first.
Status check_steps(const std::shared_ptr<const model::VectorSteps>& steps, int n) {
  if (steps == nullptr) return {};
  for (const model::VectorStep& step : steps->list) {
    if (step.n_in > 0 && step.n_in != n)
      return invalid_argument(
          "there are vectors of {} values, expected {} for the model's next module", n, step.n_in);
    if (step.n_out > 0) n = step.n_out;
  }
  return {};
}

// The pooled vector behind the steps of the model's files.
std::vector<float> vector_of(const Completion& completion, const EmbedOptions& options) {
  std::vector<float> values;
  if (options.joined.empty()) {
    values = completion.embedding;
  } else {
    const auto d_model = static_cast<size_t>(options.row_length);
    const size_t n_first =
        static_cast<size_t>(completion.prompt_tokens) - completion.embedding.size() / d_model;
    for (const Pooling pooling : options.joined) {
      const std::vector<float> pooled =
          pooled_rows(pooling, completion.embedding, d_model, n_first);
      values.insert(values.end(), pooled.begin(), pooled.end());
    }
  }
  return options.steps == nullptr ? values : options.steps->apply(values);
}

// Fills in what the options leave open.
Result<EmbedOptions> settled_options(const Model& model, EmbedOptions options) {
  const bool is_open = options.pooling == Pooling::kNone || !options.normalise || !options.prompt ||
                       !options.input_type.empty();
  const Result<model::EmbeddingForm>& form = embedding_form_of(model);
  if (!form && !is_open) return options;
  if (!form) return form.error();
  if (Status status = check_dimension(form->dimension, model); !status) return status.error();
  if (options.pooling == Pooling::kNone) {
    const Pooling otherwise = spec_of(model).both_ways ? Pooling::kMean : Pooling::kLast;
    options.pooling = form->pooling == Pooling::kNone ? otherwise : form->pooling;
    options.joined = form->joined;
  }
  options.steps = form->steps;
  options.token_steps = form->token_steps;
  options.weight_steps = form->weight_steps;
  if (options.output == EmbedOutput::kWeights && options.weight_steps == nullptr)
    return unsupported("the model has no weights of tokens, expected the file sparse_linear.pt");
  if (options.dimensions == 0 && form->kept_dimensions > 0) {
    options.dimensions = form->kept_dimensions;
    options.scaled_first = !options.normalise && form->normalise;
  }
  if (!options.normalise) options.normalise = form->normalise;
  if (!options.prompt) options.prompt = form->prompt;
  options.prompts = form->prompts;
  options.include_prompt = form->include_prompt;
  options.max_tokens = most_tokens(model, form->max_tokens, form->has_modules);
  if (model.has_tokenizer())
    options.cut_at_end = tokenizer_of(model)->limit().at_end.value_or(true);
  if (!options.input_type.empty())
    if (Status status = take_prompt_for(options.input_type, options); !status)
      return status.error();
  return options;
}

}  // namespace

Result<EmbedOptions> embed_options_for(const Model& model, EmbedOptions options) {
  Result<EmbedOptions> settled = settled_options(model, std::move(options));
  if (!settled) return settled;
  settled->row_length = spec_of(model).d_model;
  const auto n_pooled = static_cast<int>(std::max<size_t>(settled->joined.size(), 1));
  settled->length = settled->row_length * n_pooled;
  for (const auto& [steps, n] : {std::pair(settled->steps, settled->length),
                                 std::pair(settled->token_steps, settled->row_length),
                                 std::pair(settled->weight_steps, settled->row_length)})
    if (Status status = check_steps(steps, n); !status) return status.error();
  if (settled->steps != nullptr) settled->length = settled->steps->length_of(settled->length);
  if (Status status = check_embed_options(*settled, settled->length); !status)
    return status.error();
  return settled;
}

std::string pooling_name(const EmbedOptions& options) {
  const std::vector<Pooling> one = {options.pooling};
  std::string names;
  for (const Pooling pooling : options.joined.empty() ? one : options.joined)
    for (const auto& [name, known] : kPoolingNames)
      if (known == pooling) names += (names.empty() ? "" : "+") + std::string(name);
  return names;
}

const std::string* prompt_for(const EmbedOptions& options, const std::string& input_type) {
  constexpr std::string_view kSearch = "search_";  // Cohere's names
  std::vector<std::string> names = {input_type};
  if (input_type.starts_with(kSearch)) names.push_back(input_type.substr(kSearch.size()));
  const std::string last = names.back();
  if (last == "document") names.emplace_back("passage");
  if (last == "passage") names.emplace_back("document");
  for (const std::string& name : names)
    if (const auto found = options.prompts.find(name); found != options.prompts.end())
      return &found->second;
  return nullptr;
}

Status take_prompt_for(const std::string& input_type, EmbedOptions& options) {
  if (const std::string* prompt = prompt_for(options, input_type)) {
    options.prompt = *prompt;
    return {};
  }
  std::vector<std::string_view> names;
  for (const auto& [name, text] : options.prompts) names.push_back(name);
  if (names.empty())
    return invalid_argument("input_type is '{}', but the model's files name no prompts",
                            input_type);
  return invalid_argument("input_type is '{}', expected a prompt of the model's files: {}",
                          input_type, one_of_these(names));
}

Request embed_request(const EmbedOptions& options, std::string_view text) {
  Request request;
  request.pooling = options.pooling == Pooling::kNone ? Pooling::kLast : options.pooling;
  if (options.output != EmbedOutput::kVector) request.pooling = Pooling::kRows;
  const bool as_it_is =
      options.instruction.empty() && has(options.prompt_template, "{instruction}");
  const std::string_view form = options.prompt_template;
  const auto filled = [&](std::string_view part) {
    return fill_in(part, {{"{instruction}", options.instruction}, {"{text}", text}});
  };
  std::string before =
      as_it_is ? options.prompt.value_or("") : filled(form.substr(0, form.find("{text}")));
  request.prompt = as_it_is ? before + std::string(text) : filled(form);
  if (!options.include_prompt && options.output == EmbedOutput::kVector)
    request.unpooled = std::move(before);
  request.truncate_prompt_tokens = options.max_tokens;
  request.truncate_at_end = options.cut_at_end;
  return request;
}

namespace {

// Keeps the first values, and scales them or all to length 1.
std::vector<float> finished(std::vector<float> values, const EmbedOptions& options) {
  const size_t n = options.dimensions > 0
                       ? std::min(values.size(), static_cast<size_t>(options.dimensions))
                       : values.size();
  if (!options.scaled_first) values.resize(n);
  if (options.normalise.value_or(true)) {
    double sum = 0;
    for (const float value : values) sum += double{value} * value;
    const double length = std::sqrt(sum);
    if (length > 0)
      for (float& value : values) value = static_cast<float>(value / length);
  }
  values.resize(n);
  return values;
}

}  // namespace

std::vector<float> embedding_of(const Completion& completion, const EmbedOptions& options) {
  return finished(vector_of(completion, options), options);
}

std::vector<std::vector<float>> token_vectors_of(const Completion& completion,
                                                 const EmbedOptions& options) {
  const auto d_model = static_cast<size_t>(options.row_length);
  const std::span rows(completion.embedding);
  std::vector<std::vector<float>> vectors;
  for (size_t at = options.token_steps == nullptr ? 0 : d_model; at < rows.size(); at += d_model) {
    const std::span row = rows.subspan(at, d_model);
    vectors.push_back(finished(options.token_steps == nullptr
                                   ? std::vector<float>(row.begin(), row.end())
                                   : options.token_steps->apply(row),
                               options));
  }
  return vectors;
}

Result<std::map<Token, float>> token_weights_of(const Completion& completion,
                                                const EmbedOptions& options, const Model& model,
                                                const Request& request) {
  const Result<std::vector<Token>> tokens = encode_prompt(model, request);
  if (!tokens) return tokens.error();
  const auto d_model = static_cast<size_t>(options.row_length);
  const Tokenizer* tokenizer = tokenizer_of(model);
  std::map<Token, float> weights;
  for (size_t i = 0; i < tokens->size(); ++i) {
    const Token token = (*tokens)[i];
    if (tokenizer != nullptr && tokenizer->token_bytes(token, /*skip_special=*/true).empty())
      continue;
    const std::span row = std::span(completion.embedding).subspan(i * d_model, d_model);
    const float weight = options.weight_steps->apply(row)[0];
    if (weight <= 0) continue;
    float& known = weights[token];
    known = std::max(known, weight);
  }
  return weights;
}

Status check_embed_options(const EmbedOptions& options, int n_values) {
  if (options.dimensions < 0 || options.dimensions > n_values)
    return invalid_argument("dimensions is {}, expected at most the model's {}, or 0 for all",
                            options.dimensions, n_values);
  const bool needs_instruction = !options.instruction.empty();
  if (has(options.prompt_template, "{text}") &&
      (!needs_instruction || has(options.prompt_template, "{instruction}")))
    return {};
  return invalid_argument("the template is '{}', expected {}{{text}} in it",
                          options.prompt_template, needs_instruction ? "{instruction} and " : "");
}

Result<std::vector<std::vector<float>>> embed(Engine& engine, const std::vector<std::string>& texts,
                                              const EmbedOptions& options) {
  const Result<EmbedOptions> all = embed_options_for(engine.model(), options);
  if (!all) return all.error();
  std::vector<Request> requests;
  for (const std::string& text : texts) requests.push_back(embed_request(*all, text));
  const auto completions = engine.complete_all(std::move(requests));
  if (!completions) return completions.error();
  std::vector<std::vector<float>> vectors;
  for (const std::vector<Completion>& completion : *completions)
    vectors.push_back(embedding_of(completion[0], *all));
  return vectors;
}

}  // namespace pando
