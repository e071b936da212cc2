#include "engine/text_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "api/open_loop.h"
#include "engine/engine_loop.h"
#include "engine/rank_threads.h"
#include "exec/cpu/kernel/kernels.h"
#include "exec/cpu/kv_sizes.h"
#include "exec/loaded_weights.h"
#include "model/encoders.h"
#include "reference/reference_forward.h"

namespace pando::testing {
namespace {

using Random = std::mt19937_64;

int between(Random& random, int low, int high) {  // both included
  return low + static_cast<int>(random() % (high - low + 1));
}

struct TextSizes {
  int page_len, tile_len, span_len;
};

// Says what a case runs, and what it compares.
struct TextScenario {
  std::string family;
  CaseDevice device;
  std::optional<DType> weights;
  TextSizes sizes;
  LoopOptions loop;
  RankLayout layout;
  std::vector<Request> requests;
  int arrive_percent, cancel_percent;
};

constexpr int kLongestText = 90;

Request random_text(Random& random, const model::ModelConfig& config,
                    const std::vector<Request>& before) {
  Request request;
  if (!before.empty() && between(random, 1, 100) <= 40) {  // equal, but for what is read of it
    request = between(random, 0, 1) == 0 ? before.back() : before[random() % before.size()];
  } else {
    const int n =
        between(random, 0, 3) > 0 ? between(random, 1, 24) : between(random, 25, kLongestText);
    for (int i = 0; i < n; ++i) request.tokens.push_back(between(random, 3, config.vocab - 1));
    if (config.pad_token)  // positions do not count it
      for (int i = 0; i < n / 8; ++i) request.tokens[(11 * i + 3) % n] = *config.pad_token;
    if (config.n_token_types > 1)
      for (int i = 0; i < n; ++i)
        request.token_types.push_back(
            static_cast<uint8_t>(i > n / 2 ? config.n_token_types - 1 : 0));
    request.isolation_key = between(random, 0, 1);
  }
  request.pooling = std::array{Pooling::kLast, Pooling::kMean, Pooling::kFirst,
                               Pooling::kRows}[between(random, 0, 3)];
  const int n = static_cast<int>(request.tokens.size());
  request.pooled_from = between(random, 0, 2) == 0 ? between(random, 0, n - 1) : 0;
  request.logits_hash = true;
  return request;
}

TextScenario draw(const std::string& family, CaseDevice device, Random& random) {
  TextScenario s{.family = family, .device = device};
  if (s.family.empty()) {
    const std::vector<std::string> names = encoder_names();
    s.family = names[random() % names.size()];
  }
  const model::ModelConfig config = model::ModelConfig::load(encoder_folder(s.family)).value();
  s.weights = std::array<std::optional<DType>, 4>{std::nullopt, std::nullopt, DType::kQ8_0,
                                                  DType::kI8}[between(random, 0, 3)];
  s.sizes =
      std::array<TextSizes, 3>{{{4, 8, 16}, {2, 4, 8}, {32, 64, 2048}}}[between(random, 0, 2)];
  EngineOptions& engine = s.loop.engine;
  engine.sharing = std::array{"tree", "tree", "packed"}[between(random, 0, 2)];
  engine.threads = between(random, 1, 3);
  engine.kv_type = between(random, 0, 1) == 0 ? KvType::kF16 : KvType::kF32;  // it is not asked
  engine.context = kLongestText;
  engine.step_rows = std::array{1, 3, 7, 16, 64, 512}[between(random, 0, 5)];
  engine.isa = std::array{"", "portable", "avx2"}[between(random, 0, 2)];
  if (engine.isa == "avx2" && kernel::kernels_for(kernel::Isa::kAvx2) == nullptr) engine.isa = "";
  s.loop.page_len = s.sizes.page_len;
  s.loop.tile_len = s.sizes.tile_len;
  s.loop.span_len = s.sizes.span_len;
  s.loop.poison_pages = true;
  for (int n = between(random, 1, 12); n > 0; --n)
    s.requests.push_back(random_text(random, config, s.requests));
  const exec::KvSizes sizes = exec::KvSizes::of(config, {.memory = size_t{1} << 40,
                                                         .context = kLongestText,
                                                         .page_len = s.sizes.page_len,
                                                         .tile_len = s.sizes.tile_len,
                                                         .span_len = s.sizes.span_len})
                                  .value();
  const int least = (kLongestText + s.sizes.page_len - 1) / s.sizes.page_len;
  const int n_pages = least + (between(random, 0, 1) == 0 ? between(random, 0, 3) : 1000);
  engine.kv_memory = static_cast<size_t>(n_pages) * sizes.all_page_bytes();
  if (between(random, 0, 2) == 0) {
    s.layout.tp = between(random, 1, 2);
    s.layout.spp = between(random, 1, std::min(3, config.n_layers()));
    s.loop.depth = between(random, 0, 2);
  }
  if (device == CaseDevice::kScalar) {
    engine.isa = "";
    s.layout.tp = s.loop.depth = 1;
  }
  s.arrive_percent = std::array{100, 50, 20, 10}[between(random, 0, 3)];
  s.cancel_percent = between(random, 0, 2) == 0 ? 20 : 0;
  return s;
}

// Loaded models, kept for the cases that follow.
const LoadedModel& loaded(const TextScenario& s, const ModelShare& share) {
  using Key = std::tuple<std::string, CaseDevice, int, int, int, int, int>;
  static std::map<Key, LoadedModel> models;
  const Key key{s.family,     s.device,       s.weights ? static_cast<int>(*s.weights) : -1,
                share.stage,  share.n_stages, share.rank,
                share.n_ranks};
  const auto found = models.find(key);
  if (found != models.end()) return found->second;
  ThreadPool pool(1);
  const auto load = s.device == CaseDevice::kCpu ? load_model : load_scalar_model;
  auto model = load(encoder_folder(s.family), s.weights, pool, share, {});
  if (!model) throw std::runtime_error(model.error().message());
  return models.emplace(key, std::move(*model)).first->second;
}

std::vector<float> expected_of(const reference::Model& reference, const Request& request,
                               size_t d_model) {
  const std::vector<float> rows = reference.hidden(request.tokens, 0, request.token_types);
  const size_t n = request.tokens.size();
  const auto row = [&](size_t i) {
    return rows.begin() + static_cast<std::ptrdiff_t>(i * d_model);
  };
  const auto from = static_cast<size_t>(request.pooled_from);
  std::vector<float> sums(d_model);
  switch (request.pooling) {
    case Pooling::kRows:
      return {row(from), rows.end()};
    case Pooling::kFirst:
      return {row(from), row(from + 1)};
    case Pooling::kLast:
      return {row(n - 1), rows.end()};
    default:
      for (size_t i = from; i < n; ++i)
        for (size_t j = 0; j < d_model; ++j) sums[j] += rows[i * d_model + j];
      for (float& sum : sums) sum *= 1.0F / static_cast<float>(n - from);
      return sums;
  }
}

struct Heard {
  std::optional<Completion> completion;
  std::string error;
};

std::string compare(const TextScenario& s, const std::map<RequestId, Heard>& heard,
                    const std::set<RequestId>& cancelled, TextCase& result) {
  const LoadedModel& whole = loaded(s, {});
  const auto reference = reference::Model::load(
      whole.config, whole.files->checkpoint,
      {.weights = s.weights, .tile_len = s.sizes.tile_len, .span_len = s.sizes.span_len});
  if (!reference) return reference.error().message();
  for (size_t i = 0; i < s.requests.size(); ++i) {
    const RequestId id = i + 1;
    if (cancelled.contains(id)) continue;
    const auto found = heard.find(id);
    if (found == heard.end() || !found->second.completion)
      return fmt::format("request {}: no answer {}", id,
                         found == heard.end() ? "" : found->second.error);
    const std::vector<float>& embedding = found->second.completion->embedding;
    const std::vector<float> expected =
        expected_of(*reference, s.requests[i], static_cast<size_t>(whole.config.d_model));
    if (embedding.size() != expected.size() ||
        std::memcmp(embedding.data(), expected.data(), expected.size() * sizeof(float)) != 0)
      return fmt::format("request {} of {} tokens: {} values differ", id,
                         s.requests[i].tokens.size(), embedding.size());
    ++result.n_texts;
    result.n_joined += found->second.completion->shared_tokens > 0;
  }
  return {};
}

std::string run(const TextScenario& s, Random& random, TextCase& result) {
  LoopOptions options = s.loop;
  std::optional<RankThreads> ranks;
  if (s.layout.n_ranks() > 1) {
    ranks.emplace(s.layout, [&](const ModelShare& share) -> const DeviceModel& {
      return *loaded(s, share).weights;
    });
    options.ranks = &ranks->first();
  }
  const LoadedModel& own = loaded(s, s.layout.n_ranks() > 1 ? s.layout.share_of(0) : ModelShare());
  auto opened = open_loop(*own.weights, options, nullptr, nullptr, nullptr);
  if (!opened) return opened.error().message();
  EngineLoop& loop = **opened;
  std::map<RequestId, Heard> heard;
  std::set<RequestId> cancelled;
  size_t n_sent = 0;
  for (int turn = 0; n_sent < s.requests.size() || loop.n_sequences() > 0; ++turn) {
    if (turn > 200000) return "no end of steps";
    while (n_sent < s.requests.size() &&
           (loop.n_sequences() == 0 || between(random, 1, 100) <= s.arrive_percent)) {
      const RequestId id = ++n_sent;
      const Status status = loop.submit(id, s.requests[id - 1], [&heard, id](const Event& event) {
        if (event.error) heard[id].error = event.error->message();
        if (event.completion) heard[id].completion = *event.completion;
      });
      if (!status) return status.error().message();
    }
    loop.step();
    loop.deliver_events();
    if (n_sent > 0 && between(random, 1, 100) <= s.cancel_percent) {
      const RequestId id = 1 + random() % n_sent;
      if (!heard.contains(id)) {
        loop.cancel(id);
        result.n_cancelled += cancelled.insert(id).second;
      }
    }
  }
  result.on_ranks = ranks.has_value();
  const EngineStats stats = loop.stats();
  if (stats.kv_bytes != 0)
    return fmt::format("{} bytes of pages are not given back", stats.kv_bytes);
  if (stats.tree_nodes > 1) return "texts are in the tree";
  return compare(s, heard, cancelled, result);
}

}  // namespace

TextCase run_text_case(const std::string& family, uint64_t seed, CaseDevice device) {
  Random random(seed);
  TextCase result;
  const TextScenario s = draw(family, device, random);
  result.what = run(s, random, result);
  if (!result.what.empty())
    result.what =
        fmt::format("{} seed {}: {} weights {} pages {}/{}/{} threads {} rows {} isa {}: {}",
                    s.family, seed, s.layout.name(), s.weights ? static_cast<int>(*s.weights) : -1,
                    s.sizes.page_len, s.sizes.tile_len, s.sizes.span_len, s.loop.engine.threads,
                    s.loop.engine.step_rows, s.loop.engine.isa, result.what);
  return result;
}

}  // namespace pando::testing
