// The events of one exactness case, as a function of its seed. The golden hashes belong to these
// draws, so their order must not change.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "contract/ranks.h"
#include "engine/exactness_forms.h"
#include "engine/exactness_models.h"
#include "engine/loop_options.h"
#include "pando/values/request.h"

namespace pando::testing {

using Rng = std::mt19937_64;
int uniform(Rng& rng, int low, int high);  // both included
bool chance(Rng& rng, int percent);

struct Scenario {
  CaseModel model;
  CaseSizes sizes = {4, 8, 16};
  LoopOptions loop;
  std::vector<Request> requests;                       // in order of arrival; id i + 1
  std::vector<std::shared_ptr<const CaseForm>> forms;  // of each request, or null; empty: none
  size_t n_pages = 0;                                  // for which there is memory
  RankLayout ranks;                                    // as threads
  int arrive_percent = 100;  // chance that the next request arrives before a step
  int cancel_percent = 0;    // chance that a step is followed by a cancellation
  uint64_t seed = 0;

  std::string describe() const;
};

// Options of an engine that goes by predicted time.
struct Timed {
  std::string policy;
  double step_budget = 0;  // seconds on a machine where a step takes 2e-4 and a row 2e-5
};

// True if layers read the keys of earlier layers. The published techniques do not support this.
bool reads_others(const model::ModelConfig& config);
// Sets the memory to n_pages of all layers. Layers with a window that give memory back get as much,
// or little more than one path needs.
void set_memory(Scenario& s, size_t n_pages);

// Sizes, planner, types, threads, chunking, memory, a random tree of prompts, order of arrival,
// cancellations, repetition with a warm cache. kv_type: f32, f16 or bf16 is drawn where it is none.
Scenario draw_scenario(uint64_t seed, std::optional<KvType> kv_type);
// Draws the same without cancellations, by an engine of its own kind that goes by time.
Scenario draw_timed(uint64_t seed, std::optional<KvType> kv_type, const Timed& timed);
// Draws models with recurrent layers: little memory for states, places at any distance.
Scenario draw_recurrent(uint64_t seed, std::optional<KvType> kv_type);
// Draws models with windows: few window pages, many branches.
Scenario draw_windowed(uint64_t seed, std::optional<KvType> kv_type);
// Draws models with latent attention, on one rank or several.
Scenario draw_latent(uint64_t seed, std::optional<KvType> kv_type);
// Draws models with mixtures of experts.
Scenario draw_mixture(uint64_t seed, std::optional<KvType> kv_type, bool recurrent_too);
Scenario draw_mixture_ranks(uint64_t seed, std::optional<KvType> kv_type, bool recurrent_too);
// Draws ranks: any of the models above, in two stages, with positions in up to three parts, by two
// ranks each.
Scenario draw_ranks(uint64_t seed, std::optional<KvType> kv_type, bool recurrent_too);
// Draws eight ranks.
Scenario draw_eight(uint64_t seed);
// Models with states or windows over two to four stages, by up to two ranks each, with as many
// steps in flight.
Scenario draw_in_flight(uint64_t seed);
// Over ranks: draws the stages' layers, and whether the LM head is divided. Other draws stay.
void draw_division(Scenario& s);
// Takes out what only the CPU has: instruction sets, techniques with executors of their own, and
// ranks that divide outputs or positions. Stages stay.
void as_plain(Scenario& s);
// Replaces a model that GPUs refuse with a model with windows.
void as_hosted(Scenario& s);
// Any of the above, where the answers of some requests have a form.
Scenario draw_forms(uint64_t seed, std::optional<KvType> kv_type, bool recurrent_too);
// One prompt over three spans of real size beside shorter branches of it.
Scenario draw_long(uint64_t seed, std::optional<KvType> kv_type);

}  // namespace pando::testing
