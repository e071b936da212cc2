#include "engine/exactness_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/open_laboratory.h"
#include "engine/options.h"
#include "exec/cpu/kernel/kernels.h"
#include "exec/cpu/kv_memory.h"
#include "exec/cpu/kv_sizes.h"
#include "exec/cpu/state_layout.h"
#include "model/make_model.h"
#include "pando/values/sharing.h"

namespace pando::testing {

int uniform(Rng& rng, int low, int high) {
  return low + static_cast<int>(rng() % (high - low + 1));
}
bool chance(Rng& rng, int percent) { return uniform(rng, 1, 100) <= percent; }

bool reads_others(const model::ModelConfig& config) {
  return std::ranges::any_of(config.layers,
                             [](const model::LayerConfig& layer) { return layer.keys_back > 0; });
}

namespace {

// True if the family's config.json can give a window.
bool may_have_window(model::ModelConfig config) {
  const auto has_window = [](const model::LayerConfig& layer) { return layer.window > 0; };
  const bool some = std::ranges::any_of(config.layers, has_window);
  for (model::LayerConfig& layer : config.layers)
    if (has_window(layer) || !some) layer.window = 8;
  const auto read = model::ModelConfig::parse(config.to_json(DType::kF32), "config.json");
  return read.ok() && *read == config;
}

// All other tiny models without states, mixtures of experts and latent attention. The oldest come
// first in their order, so that a new family does not change a seed's draw among them.
std::vector<std::string> shapes_beside(std::span<const char* const> known) {
  constexpr std::string_view kFirst[] = {
      "tiny-granite3",       "tiny-seed-oss",   "tiny-exaone4",    "tiny-ernie4.5", "tiny-hunyuan",
      "tiny-gemma4",         "tiny-qwen2.5-vl", "tiny-qwen3-vl",   "tiny-gemma",    "tiny-cohere",
      "tiny-command-r-plus", "tiny-glm",        "tiny-stablelm",   "tiny-glm4v",    "tiny-arcee",
      "tiny-nemotron",       "tiny-gpt-neox",   "tiny-starcoder2", "tiny-phi"};
  std::vector<std::string> others;
  for (const std::string_view name : model::shape_names()) {
    if (!name.starts_with("tiny-") || std::ranges::find(known, name) != known.end()) continue;
    const model::ModelConfig config = model::named_shape(name).value();
    if (config.n_recurrent_layers() == 0 && !config.has(model::FeedForward::kExperts) &&
        !config.has_latent() && !config.both_ways)
      others.emplace_back(name);
  }
  std::ranges::stable_sort(others, {}, [&](const std::string& name) {
    return std::ranges::find(kFirst, std::string_view(name)) - std::begin(kFirst);
  });
  return others;
}

// Any family, with any scaling of its rotation and a window of any size where it can have one.
// `all`: also a family that the golden hashes are not of.
CaseModel random_model(Rng& rng, bool all) {
  CaseModel model;
  constexpr std::array kShapes = {"tiny-llama", "tiny-qwen3",   "tiny-mistral",    "tiny-qwen2",
                                  "tiny-phi3",  "tiny-olmo2",   "tiny-smollm3",    "tiny-olmo3",
                                  "tiny-glm4",  "tiny-cohere2", "tiny-ministral3", "tiny-gemma2",
                                  "tiny-gemma3"};
  static const std::vector<std::string> others = shapes_beside(kShapes);
  const size_t drawn =
      uniform(rng, 0, static_cast<int>(kShapes.size() + (all ? others.size() : 0)) - 1);
  model.shape = drawn < kShapes.size() ? kShapes[drawn] : others[drawn - kShapes.size()];
  const model::ModelConfig config = model::named_shape(model.shape).value();
  if (may_have_window(config) && chance(rng, 70))
    model.window = std::array{1, 3, 8, 13, 40, 70, 150}[uniform(rng, 0, 6)];
  if (config.rotations[0].type == model::RopeType::kDefault && chance(rng, 40))
    model.rope = static_cast<model::RopeType>(uniform(rng, 1, 3));
  return model;
}

// Prompts that branch off one another at any token, are prefixes of one another, or are equal.
std::vector<std::vector<Token>> random_prompts(Rng& rng, int n, int shortest_new, int longest,
                                               int page_len) {
  const int alphabet = chance(rng, 50) ? 2 : kCaseVocab;
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
      sampling.logit_bias[uniform(rng, 0, kCaseVocab - 1)] = uniform(rng, -30, 30) / 10.0;
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
    request.tokens.push_back(uniform(rng, 0, kCaseVocab - 1));
    request.sampling = {.max_tokens = 0};
    request.prompt_logprobs_from = from(request);
    if (*request.prompt_logprobs_from < static_cast<int>(request.tokens.size()))
      requests.push_back(std::move(request));
  }
}

// And of those some the likelihoods of other last tokens.
void add_alternatives(uint64_t seed, std::vector<Request>& requests) {
  Rng rng(seed ^ 0xbf58476d1ce4e5b9);
  for (Request& request : requests)
    if (request.sampling.max_tokens == 0)
      for (int i = uniform(rng, 0, 3); i > 0; --i)
        request.alternatives.push_back(uniform(rng, 0, kCaseVocab - 1));
}

// Costs of a machine other than this one.
constexpr const char* kStepCosts =
    R"({"step_s":2e-4,"row_s":[2e-5,2e-5,2e-5,2e-5,2e-5],"head_s":0,"output_s":1e-5,"key_s":1e-7,"read_s":1e-7})";

// Some engines pack their steps by time.
void add_policy(uint64_t seed, EngineOptions& engine) {
  Rng rng(seed ^ 0x9e6c63d0876a9a47);
  engine.policy = std::array{"fcfs", "fcfs", "edf", "lrs", "lars"}[uniform(rng, 0, 4)];
  engine.step_budget = std::array{0.0, 1e-4, 1e-3, 5e-3}[uniform(rng, 0, 3)];
  engine.step_costs = kStepCosts;
}

// A technique of the laboratory, or `packed` where there is none: their bits are the same.
std::string or_packed(const char* sharing) {
  open_laboratory();
  return sharing_info(sharing) ? sharing : "packed";
}

}  // namespace

void set_memory(Scenario& s, size_t n_pages) {
  EngineOptions& engine = s.loop.engine;
  s.n_pages = n_pages;
  const model::ModelConfig config = config_of(s.model);
  const bool is_own =
      engine.sharing == "tree" || engine.sharing == "packed" || engine.sharing == "prefix_cached";
  const KvOptions options{.type = kv_dtype(engine.kv_type),
                          .memory = size_t{1} << 40,
                          .context = engine.context,
                          .page_len = s.sizes.page_len,
                          .tile_len = s.sizes.tile_len,
                          .span_len = s.sizes.span_len,
                          .window_pages = is_own && s.ranks.kvp == 1};
  const exec::KvSizes sizes = exec::KvSizes::of(config, options).value();
  engine.kv_memory = n_pages * exec::page_bytes(sizes.pages);
  if (sizes.window == 0) return;
  Rng rng(s.seed ^ 0x8ebc6af09c88c6e3);
  const size_t least = exec::least_window_pages(options, sizes.window);
  s.loop.n_window_pages =
      std::max(least, chance(rng, 40) ? n_pages : least + static_cast<size_t>(uniform(rng, 0, 5)));
  engine.kv_memory += s.loop.n_window_pages * exec::page_bytes(sizes.windows);
}

std::string Scenario::describe() const {
  return fmt::format(
      "seed {}: {} cut [{}] divided head {} of {} positions depth {} {} {} {} within {} s pages "
      "{}/{}/{} kv {} threads {} "
      "rows {} "
      "memory "
      "{} isa {} "
      "requests {}",
      seed, ranks.name(), fmt::join(ranks.cut, " "), ranks.divides_head.value_or(false),
      ranks.kvp_tokens, loop.depth, model.name(), loop.engine.sharing, loop.engine.policy,
      loop.engine.step_budget, sizes.page_len, sizes.tile_len, sizes.span_len,
      static_cast<int>(loop.engine.kv_type), loop.engine.threads, loop.engine.step_rows,
      loop.engine.kv_memory, loop.engine.isa, requests.size());
}

Scenario draw_scenario(uint64_t seed, std::optional<KvType> kv_type) {
  Rng rng(seed);
  Scenario s;
  s.seed = seed;
  s.model = random_model(rng, /*all=*/seed >= 24);
  s.loop.least_answers = seed % 2 == 0 ? 1 : 4;
  const bool real_sizes = chance(rng, 30);
  if (real_sizes) s.sizes = {chance(rng, 50) ? 32 : 16, 64, 2048};
  const int longest = real_sizes ? 230 : uniform(rng, 6, 70);
  EngineOptions& engine = s.loop.engine;
  engine.sharing = std::array{"tree", "tree", "packed", "prefix_cached"}[uniform(rng, 0, 3)];
  engine.threads = uniform(rng, 1, 2);
  engine.kv_type = std::array{KvType::kF32, KvType::kF16, KvType::kBF16}[uniform(rng, 0, 2)];
  if (kv_type) engine.kv_type = *kv_type;
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
  for (size_t i = 0; i < n_first; ++i)  // asked again, when more is cached
    if (chance(rng, 30)) s.requests.push_back(s.requests[i]);
  Rng scoring_rng(seed ^ 0x2545f4914f6cdd1d);
  add_scoring(scoring_rng, s.requests);
  add_adjustments(scoring_rng, s.requests);
  add_alternatives(seed, s.requests);

  size_t n_longest = 0;
  for (const Request& request : s.requests)
    n_longest = std::max(n_longest, request.tokens.size() + request.sampling.max_tokens);
  const size_t n_least = (n_longest + s.sizes.page_len - 1) / s.sizes.page_len;
  const size_t n_pages = chance(rng, 50) ? 4096 : n_least + uniform(rng, 0, 6);
  s.arrive_percent = chance(rng, 40) ? 100 : uniform(rng, 5, 60);
  s.cancel_percent = chance(rng, 70) ? 0 : 10;
  // Or a technique that keeps the bits as well. Who is cancelled depends on the steps, and the
  // golden hashes are of answers that are not.
  if (engine.sharing == "packed" && (s.cancel_percent == 0 || seed >= 24) &&
      !reads_others(config_of(s.model)))
    engine.sharing =
        or_packed(std::array{"packed", "radix:threshold=1", "radix:rows=60,bucket=8",
                             "prepacked:batch=3", "prepacked:dataset,batch=2"}[seed % 5]);
  if (engine.sharing.find(':') == std::string::npos && (s.cancel_percent == 0 || seed >= 24))
    add_policy(seed, engine);
  Rng public_rng(seed ^ 0x9e6c63d0876a9a47);
  if (chance(public_rng, 30) && (s.cancel_percent == 0 || seed >= 24))
    for (Request& request : s.requests)  // more than all is all but the last
      request.n_public = static_cast<size_t>(uniform(public_rng, 0, longest));
  engine.place_every = static_cast<int>(1 + seed % 50);
  set_memory(s, n_pages);
  return s;
}

Scenario draw_timed(uint64_t seed, std::optional<KvType> kv_type, const Timed& timed) {
  Scenario s = draw_scenario(seed, kv_type);
  EngineOptions& engine = s.loop.engine;
  if (engine.sharing.find(':') != std::string::npos) engine.sharing = "packed";
  engine.policy = timed.policy;
  engine.step_budget = timed.step_budget;
  engine.step_costs = kStepCosts;
  s.cancel_percent = 0;
  return s;
}

Scenario draw_recurrent(uint64_t seed, std::optional<KvType> kv_type) {
  Scenario s = draw_scenario(seed, kv_type);
  Rng rng(seed ^ 0xd6e8feb86659fd93);
  constexpr std::array kShapes = {"tiny-qwen3.5",    "tiny-lfm2",       "tiny-granite",
                                  "tiny-qwen3-next", "tiny-nemotron-h", "tiny-olmo-hybrid"};
  EngineOptions& engine = s.loop.engine;
  const size_t n_pages = s.n_pages;
  s.model = {.shape = kShapes[uniform(rng, 0, static_cast<int>(kShapes.size()) - 1)]};
  if (engine.sharing.find(':') != std::string::npos) engine.sharing = "packed";
  engine.place_every = std::array{1, 5, 16, 64, 2048}[uniform(rng, 0, 4)];
  // Pages and states are short by themselves, together or not at all.
  s.loop.n_slots = chance(rng, 50) ? 200 : uniform(rng, 2, 12);
  s.loop.n_window_pages = 0;
  set_memory(s, n_pages);
  engine.kv_memory += s.loop.n_slots * exec::StateLayout(config_of(s.model)).slot_bytes();
  return s;
}

Scenario draw_mixture(uint64_t seed, std::optional<KvType> kv_type, bool recurrent_too) {
  Rng rng(seed ^ 0x8cb92ba72f3d8dd7);
  constexpr std::array kShapes = {"tiny-qwen3-moe",
                                  "tiny-qwen3-vl-moe",
                                  "tiny-mixtral",
                                  "tiny-olmoe",
                                  "tiny-phimoe",
                                  "tiny-granite-moe",
                                  "tiny-granite-moe-shared",
                                  "tiny-gpt-oss",
                                  "tiny-glm4-moe",
                                  "tiny-glm4v-moe",
                                  "tiny-dots1",
                                  "tiny-minimax-m2",
                                  "tiny-ernie4.5-moe",
                                  "tiny-qwen2-moe",
                                  "tiny-hunyuan-moe",
                                  "tiny-gemma4-moe"};
  constexpr std::array kRecurrent = {"tiny-qwen3.5-moe", "tiny-qwen3-next-moe",
                                     "tiny-granite-moe-hybrid", "tiny-lfm2-moe",
                                     "tiny-nemotron-h-moe"};
  const bool recurrent = recurrent_too && chance(rng, 40);
  Scenario s = recurrent ? draw_recurrent(seed, kv_type) : draw_scenario(seed, kv_type);
  const size_t index = rng();
  s.model = {.shape = recurrent ? kRecurrent[index % kRecurrent.size()]
                                : kShapes[index % kShapes.size()]};
  EngineOptions& engine = s.loop.engine;
  if (engine.sharing.find(':') != std::string::npos) engine.sharing = "packed";
  s.loop.n_window_pages = 0;
  set_memory(s, s.n_pages);
  if (recurrent)
    engine.kv_memory += s.loop.n_slots * exec::StateLayout(config_of(s.model)).slot_bytes();
  return s;
}

Scenario draw_windowed(uint64_t seed, std::optional<KvType> kv_type) {
  Scenario s = draw_scenario(seed, kv_type);
  Rng rng(seed ^ 0xa0761d6478bd642f);
  constexpr std::array kShapes = {"tiny-mistral", "tiny-phi3",      "tiny-qwen2",  "tiny-qwen3",
                                  "tiny-olmo3",   "tiny-cohere2",   "tiny-gemma3", "tiny-exaone4",
                                  "tiny-gemma4",  "tiny-gemma4-moe"};
  s.model = {.shape = kShapes[uniform(rng, 0, static_cast<int>(kShapes.size()) - 1)],
             .window = std::array{1, 3, 8, 13, 21, 40}[uniform(rng, 0, 5)]};
  EngineOptions& engine = s.loop.engine;
  if (engine.sharing.find(':') != std::string::npos) engine.sharing = "packed";
  engine.place_every = std::array{1, 50, 2048}[uniform(rng, 0, 2)];
  set_memory(s, s.n_pages);
  return s;
}

Scenario draw_long(uint64_t seed, std::optional<KvType> kv_type) {
  Rng rng(seed);
  Scenario s;
  s.seed = seed;
  s.model = random_model(rng, /*all=*/true);
  if (s.model.window > 0) s.model.window = std::array{70, 1000, 2048, 4000}[uniform(rng, 0, 3)];
  s.sizes = {32, 64, 2048};
  EngineOptions& engine = s.loop.engine;
  engine.sharing = std::array{"tree", "prefix_cached", "packed"}[seed % 3];
  engine.kv_type = std::array{KvType::kF16, KvType::kBF16, KvType::kF32}[seed / 3 % 3];
  if (kv_type) engine.kv_type = *kv_type;
  engine.threads = uniform(rng, 1, 2);
  engine.context = kCaseContext;
  const size_t n_pages = chance(rng, 50) ? 600 : 196;  // all, or the longest alone
  set_memory(s, n_pages);
  std::vector<Token> prompt;
  for (int i = 0; i < 6200; ++i) prompt.push_back(uniform(rng, 0, kCaseVocab - 1));
  for (const int cut : {6200, 2049}) {
    Request request;
    request.tokens.assign(prompt.begin(), prompt.begin() + cut);
    request.tokens.back() ^= uniform(rng, 0, 1);
    request.sampling.max_tokens = 3;
    s.requests.push_back(std::move(request));
  }
  return s;
}

}  // namespace pando::testing
