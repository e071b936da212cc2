#include "engine/exactness_cases.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <stdexcept>

#include "engine/engine_loop.h"
#include "engine/options.h"
#include "model/gguf_files.h"
#include "model/make_model.h"
#include "reference/reference_sampler.h"

namespace pando::testing {
namespace {

constexpr int kVocab = 64;
constexpr int kContext = 6400;

using Rng = std::mt19937_64;
int uniform(Rng& rng, int low, int high) {
  return low + static_cast<int>(rng() % (high - low + 1));
}
bool chance(Rng& rng, int percent) { return uniform(rng, 1, 100) <= percent; }

struct Row {
  RequestId request;
  int choice;
  uint32_t position;
  std::vector<float> logits;
};

struct Outcome {
  Request request;
  std::vector<Completion> completions;
  std::string error;
  bool cancelled = false;
};

// Any family, with any scaling of its rotation and a window of any size where it can have one. The
// context of a case is below or above `kOriginal`.
constexpr int kOriginal = 48;

CaseModel random_model(Rng& rng) {
  CaseModel model;
  model.shape = std::array{"tiny-llama", "tiny-qwen3", "tiny-mistral",
                           "tiny-qwen2", "tiny-phi3",  "tiny-olmo2"}[uniform(rng, 0, 5)];
  const model::ModelConfig config = model::named_shape(model.shape).value();
  if (model::traits_of(config.family).window != model::WindowFields::kNone && chance(rng, 70))
    model.window = std::array{1, 3, 8, 13, 40, 70, 150}[uniform(rng, 0, 6)];
  if (config.rope.type == model::RopeType::kDefault && chance(rng, 40))
    model.rope = static_cast<model::RopeType>(uniform(rng, 1, 3));
  return model;
}

// The shape's configuration with the changes of the case.
model::ModelConfig config_of(const CaseModel& model) {
  model::ModelConfig config = model::named_shape(model.shape).value();
  config.n_layers = 2;
  config.vocab = kVocab;
  config.max_positions = kContext;
  if (!config.windowed_layers.empty()) config.windowed_layers.resize(config.n_layers);
  if (model.window > 0) config.sliding_window = model.window;
  if (model.rope != model::RopeType::kDefault) {
    config.rope.type = model.rope;
    config.rope.factor = 4.0;
    if (model.rope == model::RopeType::kYarn) config.rope.attention_factor = 1.140625;
  }
  if (config.rope.type > model::RopeType::kLinear) config.rope.original_positions = kOriginal;
  return config;
}

std::optional<DType> requantised(CaseWeights kind) {
  switch (kind) {
    case CaseWeights::kQ8_0:
      return DType::kQ8_0;
    case CaseWeights::kQ4_0:
      return DType::kQ4_0;
    case CaseWeights::kInt8:
      return DType::kI8;
    case CaseWeights::kBF16Dot:
      return DType::kBF16Dot;
    default:
      return std::nullopt;
  }
}

Result<model::Weights> load_made(const CaseModel& model, CaseWeights kind,
                                 const std::filesystem::path& directory) {
  model::MakeModelOptions options;
  options.shape = model.shape;
  options.out = directory / model.name();
  options.dtype = kind == CaseWeights::kF32   ? DType::kF32
                  : kind == CaseWeights::kF16 ? DType::kF16
                                              : DType::kBF16;
  options.seed = 7;
  options.n_layers = 2;
  options.vocab = kVocab;
  options.max_positions = kContext;
  if (Status status = model::make_model(options); !status) return status.error();
  std::ofstream(options.out / "config.json") << config_of(model).to_json(options.dtype);
  ThreadPool pool(1);
  return model::Weights::load(options.out, requantised(kind), kernel::best_kernels(), pool);
}

// With rows of whole blocks, where only `o_proj` has others.
Result<model::Weights> load_blocks(const CaseModel& model, const std::filesystem::path& directory) {
  model::ModelConfig config = config_of(model);
  config.d_model = config.d_ff = 256;
  model::ModelConfig known = config;  // a GGUF file cannot say every rotation and window
  known.rope = {};
  known.sliding_window = 0;
  const std::filesystem::path path = directory / (model.name() + ".gguf");
  std::ofstream(path, std::ios::binary) << random_gguf(known, 7);
  ThreadPool pool(1);
  Result<model::Weights> loaded = model::Weights::load(path, {}, kernel::best_kernels(), pool);
  if (loaded) loaded->config = std::move(config);
  return loaded;
}

}  // namespace

std::string CaseModel::name() const {
  return fmt::format("{}-w{}-r{}", shape, window, static_cast<int>(rope));
}

// What happens in one case.
struct ExactnessCases::Scenario {
  CaseModel model;
  CaseSizes sizes = {4, 8, 16};
  LoopOptions loop;
  std::vector<Request> requests;  // in order of arrival; id i + 1
  int arrive_percent = 100;       // chance that the next request arrives before a step
  int cancel_percent = 0;         // chance that a step is followed by a cancellation
  uint64_t seed = 0;

  std::string describe() const {
    return fmt::format(
        "seed {}: {} {} {} within {} s pages {}/{}/{} kv {} threads {} rows {} memory {} isa {} "
        "requests {}",
        seed, model.name(), loop.engine.sharing, loop.engine.policy, loop.engine.step_budget,
        sizes.page_len, sizes.tile_len, sizes.span_len, static_cast<int>(loop.engine.kv_type),
        loop.engine.threads, loop.engine.step_rows, loop.engine.kv_memory, loop.engine.isa,
        requests.size());
  }
};

ExactnessCases::ExactnessCases(CaseWeights kind, std::optional<KvType> kv_type)
    : kind_(kind), kv_type_(kv_type) {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "pando-exactness-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr)
    throw std::runtime_error("cannot make a temporary directory");
  directory_ = pattern;
}

ExactnessCases::~ExactnessCases() { std::filesystem::remove_all(directory_); }

const model::Weights& ExactnessCases::weights(const CaseModel& model) {
  std::unique_ptr<model::Weights>& entry = weights_[model];
  if (!entry) {
    Result<model::Weights> loaded = kind_ == CaseWeights::kQ4_K
                                        ? load_blocks(model, directory_)
                                        : load_made(model, kind_, directory_);
    if (!loaded) throw std::runtime_error(loaded.error().message);
    entry = std::make_unique<model::Weights>(std::move(*loaded));
  }
  return *entry;
}

const reference::Model& ExactnessCases::reference(const CaseModel& model, DType kv_type,
                                                  const CaseSizes& sizes, int context) {
  constexpr size_t kMostKept = 100;  // half a megabyte each
  if (references_.size() >= kMostKept) references_.clear();
  std::unique_ptr<reference::Model>& entry =
      references_[{model, kv_type, sizes, context > kOriginal}];
  if (!entry) {
    const model::Weights& w = weights(model);
    Result<reference::Model> loaded = reference::Model::load(w.config, w.checkpoint,
                                                             {.weights = requantised(kind_),
                                                              .kv_dtype = kv_type,
                                                              .tile_len = sizes.tile_len,
                                                              .span_len = sizes.span_len,
                                                              .context = context});
    if (!loaded) throw std::runtime_error(loaded.error().message);
    entry = std::make_unique<reference::Model>(std::move(*loaded));
  }
  return *entry;
}

namespace {

// Prompts that branch off one another at any token, are prefixes of one another, or are equal.
std::vector<std::vector<Token>> random_prompts(Rng& rng, int n, int shortest_new, int longest,
                                               int page_len) {
  const int alphabet = chance(rng, 50) ? 2 : kVocab;
  std::vector<std::vector<Token>> prompts;
  for (int i = 0; i < n; ++i) {
    std::vector<Token> prompt;
    if (!prompts.empty() && !chance(rng, 10)) {
      prompt = prompts[uniform(rng, 0, static_cast<int>(prompts.size()) - 1)];
      int cut = uniform(rng, 0, static_cast<int>(prompt.size()));
      if (chance(rng, 30))
        cut = std::min<int>(cut / page_len * page_len + uniform(rng, 0, 1),
                            static_cast<int>(prompt.size()));
      prompt.resize(cut);
    }
    int n_more = prompt.empty() ? uniform(rng, shortest_new, longest)
                                : uniform(rng, 0, std::max(1, longest / 3));
    n_more = std::min<int>(n_more, longest - static_cast<int>(prompt.size()));
    for (int j = 0; j < n_more; ++j) prompt.push_back(uniform(rng, 0, alphabet - 1));
    if (prompt.empty()) prompt.push_back(0);
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

SamplingOptions random_sampling(Rng& rng) {
  SamplingOptions sampling;
  sampling.max_tokens = uniform(rng, 1, 7);
  sampling.ignore_eos = true;
  if (chance(rng, 20)) sampling.n = uniform(rng, 2, 3);
  if (chance(rng, 40)) {
    sampling.temperature = 0.5 + uniform(rng, 0, 10) / 10.0;
    if (chance(rng, 40)) sampling.top_k = uniform(rng, 2, 20);
    if (chance(rng, 40)) sampling.top_p = uniform(rng, 30, 99) / 100.0;
    sampling.seed = rng();
  }
  return sampling;
}

// Some requests draw from changed logits.
void add_adjustments(Rng& rng, std::vector<Request>& requests) {
  for (Request& request : requests) {
    SamplingOptions& sampling = request.sampling;
    if (!chance(rng, 30)) continue;
    if (chance(rng, 50)) sampling.repetition_penalty = 1 + uniform(rng, -3, 10) / 10.0;
    if (chance(rng, 50)) sampling.presence_penalty = uniform(rng, -5, 5) / 10.0;
    if (chance(rng, 50)) sampling.frequency_penalty = uniform(rng, -5, 5) / 10.0;
    if (chance(rng, 50)) sampling.min_p = uniform(rng, 1, 50) / 100.0;
    for (int i = uniform(rng, 0, 2); i > 0; --i)
      sampling.logit_bias[uniform(rng, 0, kVocab - 1)] = uniform(rng, -30, 30) / 10.0;
  }
}

// Some requests want the likelihood of their prompt too, and some of that alone.
void add_scoring(Rng& rng, std::vector<Request>& requests) {
  const auto from = [&](const Request& request) {
    return uniform(rng, 1, static_cast<int>(request.tokens.size()));
  };
  for (Request& request : requests)
    if (chance(rng, 25)) request.prompt_logprobs_from = from(request);
  for (size_t i = 0, n = requests.size(); i < n; ++i) {
    if (!chance(rng, 25)) continue;
    Request request = requests[i];
    request.tokens.push_back(uniform(rng, 0, kVocab - 1));
    request.sampling = {.max_tokens = 0};
    request.prompt_logprobs_from = from(request);
    if (*request.prompt_logprobs_from < static_cast<int>(request.tokens.size()))
      requests.push_back(std::move(request));
  }
}

// Of a machine that is not this one.
constexpr const char* kStepCosts =
    R"({"step_s":2e-4,"row_s":[2e-5,2e-5,2e-5,2e-5,2e-5],"head_s":0,"output_s":1e-5,"key_s":1e-7,"read_s":1e-7})";

// Some engines pack their steps by time.
void add_policy(uint64_t seed, EngineOptions& engine) {
  Rng rng(seed ^ 0x9e6c63d0876a9a47);
  engine.policy = std::array{"fcfs", "fcfs", "edf", "lrs", "lars"}[uniform(rng, 0, 4)];
  engine.step_budget = std::array{0.0, 1e-4, 1e-3, 5e-3}[uniform(rng, 0, 3)];
  engine.step_costs = kStepCosts;
}

size_t page_bytes(const model::ModelConfig& config, KvType type, int page_len) {
  return kernel::KvShape{.type = kv_dtype(type),
                         .n_layers = config.n_layers,
                         .n_kv_heads = config.n_kv_heads,
                         .head_dim = config.head_dim,
                         .page_len = page_len}
      .page_bytes();
}

// Of a token of the prompt, whose row of logits is known.
std::string compare_scored(std::span<const float> logits, Token token, const TokenLogprob& found) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(double{logit});
  const double expected = logits[token] - std::log(sum);
  if (found.token == token && std::abs(found.logprob - expected) < 1e-5) return {};
  return fmt::format("token {} with ln p {}, expected {} with {}", found.token, found.logprob,
                     token, expected);
}

// Every completed answer of a request against the reference.
std::string compare(const Outcome& outcome, RequestId id, const reference::Model& reference,
                    const std::vector<Row>& rows, int& n_rows, uint64_t& logits_hash) {
  const SamplingOptions& sampling = outcome.request.sampling;
  if (outcome.completions.size() != static_cast<size_t>(sampling.n))
    return fmt::format("request {}: answers are missing", id);
  for (const Completion& completion : outcome.completions) {
    std::vector<Token> tokens = outcome.request.tokens;
    const size_t n_prompt = tokens.size();
    tokens.insert(tokens.end(), completion.tokens.begin(), completion.tokens.end());
    tokens.pop_back();  // nothing follows it
    const size_t first = outcome.request.prompt_logprobs_from.value_or(n_prompt);
    const std::vector<float> expected = reference.logits(tokens, static_cast<int>(first) - 1);
    size_t n_seen = 0;
    for (const Row& row : rows) {
      if (row.request != id || row.choice != completion.choice) continue;
      if (row.position < first || row.position > tokens.size())
        return fmt::format("request {}: position {} out of range", id, row.position);
      const float* wanted = expected.data() + (row.position - first) * kVocab;
      if (std::memcmp(wanted, row.logits.data(), kVocab * sizeof(float)) != 0)
        return fmt::format("request {} choice {} position {}: logits differ", id, row.choice,
                           row.position);
      ++n_seen;
      if (row.position < n_prompt) {
        if (std::string what = compare_scored({wanted, kVocab}, tokens[row.position],
                                              completion.prompt_logprobs.at(row.position - first));
            !what.empty())
          return fmt::format("request {} position {}: {}", id, row.position, what);
        continue;
      }
      const size_t index = row.position - n_prompt;
      const Token token = reference::sample({wanted, kVocab}, sampling, sampling.seed.value_or(0),
                                            row.choice, row.position, outcome.request.tokens,
                                            std::span(completion.tokens).first(index));
      if (token != completion.tokens[index])
        return fmt::format("request {} choice {} position {}: token {} instead of {}", id,
                           row.choice, row.position, completion.tokens[index], token);
      logits_hash += XXH3_64bits_withSeed(wanted, kVocab * sizeof(float),
                                          (id << 40) ^ (uint64_t{row.position} << 16) ^ row.choice);
    }
    if (n_seen != tokens.size() + 1 - first)
      return fmt::format("request {}: {} rows seen, {} expected", id, n_seen,
                         tokens.size() + 1 - first);
    n_rows += static_cast<int>(n_seen);
  }
  return {};
}

}  // namespace

CaseResult ExactnessCases::run(uint64_t seed) { return run(draw(seed)); }

CaseResult ExactnessCases::run(uint64_t seed, const Timed& timed) {
  Scenario s = draw(seed);
  EngineOptions& engine = s.loop.engine;
  if (engine.sharing.find(':') != std::string::npos) engine.sharing = "packed";
  engine.policy = timed.policy;
  engine.step_budget = timed.step_budget;
  engine.step_costs = kStepCosts;
  s.cancel_percent = 0;
  return run(s);
}

ExactnessCases::Scenario ExactnessCases::draw(uint64_t seed) {
  Rng rng(seed);
  Scenario s;
  s.seed = seed;
  s.model = random_model(rng);
  const bool real_sizes = chance(rng, 30);
  if (real_sizes) s.sizes = {chance(rng, 50) ? 32 : 16, 64, 2048};
  const int longest = real_sizes ? 230 : uniform(rng, 6, 70);
  EngineOptions& engine = s.loop.engine;
  engine.sharing = std::array{"tree", "tree", "packed", "prefix_cached"}[uniform(rng, 0, 3)];
  engine.threads = uniform(rng, 1, 2);
  engine.kv_type = std::array{KvType::kF32, KvType::kF16, KvType::kBF16}[uniform(rng, 0, 2)];
  if (kv_type_) engine.kv_type = *kv_type_;
  engine.context = longest + 16;
  engine.step_rows = std::array{1, 3, 7, 16, 64, 512}[uniform(rng, real_sizes ? 3 : 0, 5)];
  engine.max_running = chance(rng, 30) ? uniform(rng, 1, 3) : 256;
  if (chance(rng, 20)) {  // the same draws on every machine: the golden hashes are of these cases
    const bool avx2 = chance(rng, 60);
    engine.isa = avx2 && kernel::kernels_for(kernel::Isa::kAvx2) ? "avx2" : "portable";
  }

  for (std::vector<Token>& prompt :
       random_prompts(rng, uniform(rng, 1, 8), real_sizes ? 193 : 1, longest, s.sizes.page_len)) {
    Request request;
    request.tokens = std::move(prompt);
    request.sampling = random_sampling(rng);
    request.isolation_key = chance(rng, 90) ? 0 : 1;
    s.requests.push_back(std::move(request));
  }
  const size_t n_first = s.requests.size();
  for (size_t i = 0; i < n_first; ++i)  // asked again, with what is cached by then
    if (chance(rng, 30)) s.requests.push_back(s.requests[i]);
  Rng scoring_rng(seed ^ 0x2545f4914f6cdd1d);
  add_scoring(scoring_rng, s.requests);
  add_adjustments(scoring_rng, s.requests);

  size_t n_longest = 0;
  for (const Request& request : s.requests)
    n_longest = std::max(n_longest, request.tokens.size() + request.sampling.max_tokens);
  const size_t n_least = (n_longest + s.sizes.page_len - 1) / s.sizes.page_len;
  const size_t n_pages = chance(rng, 50) ? 4096 : n_least + uniform(rng, 0, 6);
  engine.kv_memory =
      n_pages * page_bytes(weights(s.model).config, engine.kv_type, s.sizes.page_len);
  s.arrive_percent = chance(rng, 40) ? 100 : uniform(rng, 5, 60);
  s.cancel_percent = chance(rng, 70) ? 0 : 10;
  // Or a technique that keeps the bits as well. Who is cancelled depends on the steps, and the
  // golden hashes are of answers that are not.
  if (engine.sharing == "packed" && (s.cancel_percent == 0 || seed >= 24))
    engine.sharing = std::array{"packed", "radix:threshold=1", "radix:rows=60,bucket=8",
                                "prepacked:batch=3", "prepacked:dataset,batch=2"}[seed % 5];
  if (engine.sharing.find(':') == std::string::npos && (s.cancel_percent == 0 || seed >= 24))
    add_policy(seed, engine);
  Rng public_rng(seed ^ 0x9e6c63d0876a9a47);
  if (chance(public_rng, 30) && (s.cancel_percent == 0 || seed >= 24))
    for (Request& request : s.requests)  // more than all is all but the last
      request.n_public = static_cast<size_t>(uniform(public_rng, 0, longest));
  return s;
}

CaseResult ExactnessCases::run_long(uint64_t seed) {
  Rng rng(seed);
  Scenario s;
  s.seed = seed;
  s.model = random_model(rng);
  if (s.model.window > 0) s.model.window = std::array{70, 1000, 2048, 4000}[uniform(rng, 0, 3)];
  s.sizes = {32, 64, 2048};
  EngineOptions& engine = s.loop.engine;
  engine.sharing = std::array{"tree", "prefix_cached", "packed"}[seed % 3];
  engine.kv_type = std::array{KvType::kF16, KvType::kBF16, KvType::kF32}[seed / 3 % 3];
  if (kv_type_) engine.kv_type = *kv_type_;
  engine.threads = uniform(rng, 1, 2);
  engine.context = kContext;
  const size_t n_pages = chance(rng, 50) ? 600 : 196;  // all, or the longest alone
  engine.kv_memory = n_pages * page_bytes(weights(s.model).config, engine.kv_type, 32);
  std::vector<Token> prompt;
  for (int i = 0; i < 6200; ++i) prompt.push_back(uniform(rng, 0, kVocab - 1));
  for (const int cut : {6200, 2049}) {
    Request request;
    request.tokens.assign(prompt.begin(), prompt.begin() + cut);
    request.tokens.back() ^= uniform(rng, 0, 1);
    request.sampling.max_tokens = 3;
    s.requests.push_back(std::move(request));
  }
  return run(s);
}

CaseResult ExactnessCases::run(const Scenario& s) {
  CaseResult result;
  const auto differs = [&](const std::string& what) {
    result.equal = false;
    result.what = what + "\n  " + s.describe();
    return result;
  };
  LoopOptions options = s.loop;
  options.page_len = s.sizes.page_len;
  options.tile_len = s.sizes.tile_len;
  options.span_len = s.sizes.span_len;
  options.poison_pages = true;
  Result<std::unique_ptr<EngineLoop>> loop = EngineLoop::create(weights(s.model), nullptr, options);
  if (!loop) return differs(loop.error().message);

  std::vector<Row> rows;
  (*loop)->observe_logits(
      [&](RequestId id, int choice, uint32_t position, std::span<const float> logits) {
        rows.push_back({id, choice, position, {logits.begin(), logits.end()}});
      });
  std::map<RequestId, Outcome> outcomes;
  Rng rng(s.seed ^ 0x5bd1e995);
  size_t n_arrived = 0;
  for (int n_steps = 0;; ++n_steps) {
    while (n_arrived < s.requests.size() &&
           ((*loop)->n_sequences() == 0 || chance(rng, s.arrive_percent))) {
      const RequestId id = ++n_arrived;
      Outcome& outcome = outcomes[id];
      outcome.request = s.requests[id - 1];
      const Status status = (*loop)->submit(id, outcome.request, [&outcome](const Event& event) {
        if (event.completion) outcome.completions.push_back(*event.completion);
        if (event.error) outcome.error = event.error->message;
      });
      if (!status) return differs(status.error().message);
    }
    if (!(*loop)->step()) break;
    (*loop)->deliver_events();
    (*loop)->cache().check_invariants();
    if (chance(rng, s.cancel_percent)) {
      const RequestId id = uniform(rng, 1, static_cast<int>(n_arrived));
      (*loop)->cancel(id);
      outcomes[id].cancelled = true;
      (*loop)->cache().check_invariants();
    }
    if (n_steps > 100000) return differs("no end of steps");
  }

  result.stats = (*loop)->stats();
  result.real_sizes = s.sizes.tile_len == 64;
  const reference::Model& expected =
      reference(s.model, kv_dtype(s.loop.engine.kv_type), s.sizes, s.loop.engine.context);
  for (auto& [id, outcome] : outcomes) {
    const int n_tokens = static_cast<int>(outcome.request.tokens.size());
    result.crosses_3_tiles |= n_tokens > 3 * s.sizes.tile_len;
    result.crosses_3_spans |= n_tokens > 3 * s.sizes.span_len;
    if (!outcome.error.empty()) return differs(outcome.error);
    result.n_cancelled += outcome.cancelled;
    if (outcome.cancelled) continue;
    const std::string what =
        compare(outcome, id, expected, rows, result.n_rows, result.logits_hash);
    if (!what.empty()) return differs(what);
  }
  return result;
}

}  // namespace pando::testing
