// Cases on several ranks, on devices, and with forms.
#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "engine/exactness_scenario.h"
#include "exec/cpu/state_layout.h"
#include "exec/gpu/gpu_device.h"
#include "exec/share.h"

namespace pando::testing {

namespace {

void set_memory_with_states(Scenario& s) {
  set_memory(s, s.n_pages);
  const model::ModelConfig config = config_of(s.model);
  if (config.n_recurrent_layers() > 0)
    s.loop.engine.kv_memory += s.loop.n_slots * exec::StateLayout(config).slot_bytes();
}

void set_memory_of_ranks(Scenario& s) {
  set_memory_with_states(s);  // more than each rank needs
  s.loop.engine.threads = 1;
}

void spread_over_ranks(Rng& rng, Scenario& s) {
  EngineOptions& engine = s.loop.engine;
  if (engine.sharing.find(':') != std::string::npos) engine.sharing = "packed";
  RankLayout& ranks = s.ranks;
  ranks.slice_rows = 5;
  ranks.tp = uniform(rng, 1, 2);
  ranks.spp = ranks.tp == 1 ? 2 : uniform(rng, 1, 2);
  if (config_of(s.model).n_recurrent_layers() == 0 && chance(rng, 60)) {
    ranks.kvp = uniform(rng, 2, 3);
    ranks.rows_each = uniform(rng, 1, 3);
    ranks.kvp_tokens = s.sizes.span_len * uniform(rng, 1, 2);
    ranks.spp = uniform(rng, 1, 2);
    // The longest path fits: one block that is not full, and one for an uneven number of blocks.
    s.n_pages = s.n_pages / ranks.kvp + 2 * ranks.kvp_tokens / s.sizes.page_len;
  }
  s.loop.depth = uniform(rng, 0, ranks.spp);
  set_memory_of_ranks(s);
}

}  // namespace

Scenario draw_ranks(uint64_t seed, std::optional<KvType> kv_type, bool recurrent_too) {
  Rng rng(seed ^ 0xe7037ed1a0b428db);
  Scenario s;
  switch (uniform(rng, 0, 3)) {
    case 0:
      s = draw_windowed(seed, kv_type);
      break;
    case 1:
      s = recurrent_too ? draw_recurrent(seed, kv_type) : draw_windowed(seed, kv_type);
      break;
    default:
      s = draw_scenario(seed, kv_type);
  }
  spread_over_ranks(rng, s);
  return s;
}

Scenario draw_mixture_ranks(uint64_t seed, std::optional<KvType> kv_type, bool recurrent_too) {
  Scenario s = draw_mixture(seed, kv_type, recurrent_too);
  Rng rng(seed ^ 0x94d049bb133111eb);
  spread_over_ranks(rng, s);
  return s;
}

Scenario draw_latent(uint64_t seed, std::optional<KvType> kv_type) {
  Rng rng(seed ^ 0x589965cc75374cc3);
  constexpr std::array kShapes = {"tiny-deepseek-v2", "tiny-deepseek-v3", "tiny-glm-flash"};
  Scenario s = chance(rng, 60) ? draw_scenario(seed, kv_type)
                               : draw_ranks(seed, kv_type, /*recurrent_too=*/false);
  s.model = {.shape = kShapes[uniform(rng, 0, static_cast<int>(kShapes.size()) - 1)]};
  if (config_of(s.model).rotations[0].type == model::RopeType::kDefault && chance(rng, 40))
    s.model.rope = static_cast<model::RopeType>(uniform(rng, 1, 3));
  s.loop.n_window_pages = 0;
  if (s.ranks.n_ranks() > 1)
    set_memory_of_ranks(s);
  else
    set_memory(s, s.n_pages);
  return s;
}

void as_plain(Scenario& s) {
  EngineOptions& engine = s.loop.engine;
  engine.isa.clear();
  if (engine.sharing.find(':') != std::string::npos) {
    engine.sharing = "packed";  // which keeps windows in pages of their own
    set_memory_with_states(s);
  }
  if (s.ranks.n_ranks() == 1) return;
  s.n_pages *= s.ranks.kvp;  // as many for all as for each part
  s.ranks.kvp = s.ranks.tp = 1;
  set_memory_of_ranks(s);
}

void as_hosted(Scenario& s) {
  if (exec::check_gpu_model(config_of(s.model), "a GPU").ok()) return;
  s.model = {.shape = "tiny-gemma3", .window = s.model.window, .wide = s.model.wide};
  s.loop.n_slots = 0;
  set_memory_with_states(s);
}

Scenario draw_eight(uint64_t seed) {
  Scenario s = draw_ranks(seed, {}, /*recurrent_too=*/true);
  Rng rng(seed ^ 0xc2b2ae3d27d4eb4f);
  s.model.wide = true;
  RankLayout& ranks = s.ranks;
  if (ranks.kvp > 1) s.n_pages *= ranks.kvp;  // as many for each part as for all
  ranks.kvp = 1;
  ranks.spp = std::array{2, 4, 8}[uniform(rng, 0, 2)];
  if (reads_others(config_of(s.model))) ranks.spp = std::min(ranks.spp, 4);  // they stay together
  ranks.tp = 8 / ranks.spp;
  s.loop.depth = uniform(rng, 0, ranks.spp);
  set_memory_of_ranks(s);
  return s;
}

Scenario draw_in_flight(uint64_t seed) {
  Rng rng(seed ^ 0xa3b195354a39b70d);
  Scenario s = chance(rng, 50) ? draw_recurrent(seed, {}) : draw_windowed(seed, {});
  s.model.wide = true;
  s.ranks.slice_rows = 5;
  s.ranks.spp = uniform(rng, 2, 4);
  s.ranks.tp = uniform(rng, 1, 2);
  s.loop.engine.step_rows = std::array{3, 7, 16}[uniform(rng, 0, 2)];
  s.loop.least_answers = 1;
  set_memory_of_ranks(s);
  return s;
}

void draw_division(Scenario& s) {
  if (s.ranks.n_ranks() == 1) return;
  Rng rng(s.seed ^ 0x2545f4914f6cdd1d);
  const model::ModelConfig config = config_of(s.model);
  s.ranks.divides_head = chance(rng, 50);
  const std::vector<int> firsts = exec::first_layers(config);
  if (chance(rng, 30)) return;
  std::vector<int>& cut = s.ranks.cut;
  std::sample(firsts.begin() + 1, firsts.end(), std::back_inserter(cut), s.ranks.spp - 1, rng);
  cut.insert(cut.begin(), 0);
  cut.push_back(config.n_layers());
}

Scenario draw_forms(uint64_t seed, std::optional<KvType> kv_type, bool recurrent_too) {
  constexpr int kMostTokens = 24;
  Rng rng(seed ^ 0x94d049bb133111eb);
  Scenario s;
  switch (uniform(rng, 0, recurrent_too ? 4 : 3)) {
    case 0:
      s = draw_windowed(seed, kv_type);
      break;
    case 1:
      s = draw_ranks(seed, kv_type, recurrent_too);
      break;
    case 4:
      s = draw_recurrent(seed, kv_type);
      break;
    default:
      s = draw_scenario(seed, kv_type);
  }
  std::vector<std::shared_ptr<const CaseForm>> forms;
  for (int n = uniform(rng, 1, 3); n > 0; --n) forms.push_back(draw_form(rng));
  for (Request& request : s.requests) {
    s.forms.emplace_back();
    if (request.sampling.max_tokens == 0 || !chance(rng, 60)) continue;
    s.forms.back() = forms[uniform(rng, 0, static_cast<int>(forms.size()) - 1)];
    request.sampling.form = s.forms.back()->form();
    request.sampling.max_tokens = chance(rng, 70) ? kMostTokens : uniform(rng, 1, 8);
  }
  s.loop.engine.context += kMostTokens;
  s.n_pages += kMostTokens / s.sizes.page_len + 1;
  set_memory_with_states(s);
  return s;
}

}  // namespace pando::testing
