// Random scenarios in which the engine must give the bits of the plain reference forward pass.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "base/dtype.h"
#include "model/weights.h"
#include "pando/engine.h"
#include "reference/reference_forward.h"

namespace pando::testing {

// The weights of a case: as stored in one of three types, types made from bf16, or blocks of a GGUF
// file.
enum class CaseWeights { kF32, kF16, kBF16, kQ8_0, kQ4_0, kInt8, kQ4_K, kBF16Dot };

struct CaseSizes {
  int page_len, tile_len, span_len;
  auto operator<=>(const CaseSizes&) const = default;
};

struct CaseResult {
  bool equal = true;
  std::string what;              // the first difference and the scenario, for people
  int n_rows = 0;                // logits rows compared
  uint64_t logits_hash = 0;      // over these rows, by request, choice and position
  bool crosses_3_tiles = false;  // a sequence of the case has tokens in more than three tiles
  bool crosses_3_spans = false;
  bool real_sizes = false;  // tiles of 64 and spans of 2,048 positions
  int n_cancelled = 0;
  EngineStats stats;
};

// A tiny random model of make_model, with another window and other scaling of its rotation.
struct CaseModel {
  std::string shape;
  int window = 0;                                    // 0: as the shape has it
  model::RopeType rope = model::RopeType::kDefault;  // kDefault: as the shape has it
  auto operator<=>(const CaseModel&) const = default;
  std::string name() const;
};

// Tiny random models, made once and loaded on demand.
class ExactnessCases {
 public:
  // kv_type: of all cases; otherwise each draws f32, f16 or bf16.
  explicit ExactnessCases(CaseWeights weights, std::optional<KvType> kv_type = {});
  ~ExactnessCases();

  // The scenario is a function of the seed: sizes, planner, types, threads, chunking, memory, a
  // random tree of prompts, order of arrival, cancellations, repetition with a warm cache.
  CaseResult run(uint64_t seed);
  // The same without cancellations, by an engine of its own kind that goes by time.
  struct Timed {
    std::string policy;
    double step_budget = 0;  // seconds on a machine where a step takes 2e-4 and a row 2e-5
  };
  CaseResult run(uint64_t seed, const Timed& timed);
  // One prompt over three spans of real size beside shorter branches of it.
  CaseResult run_long(uint64_t seed);

 private:
  struct Scenario;
  Scenario draw(uint64_t seed);
  const model::Weights& weights(const CaseModel& model);
  const reference::Model& reference(const CaseModel& model, DType kv_type, const CaseSizes& sizes,
                                    int context);
  CaseResult run(const Scenario& scenario);

  CaseWeights kind_;
  std::optional<KvType> kv_type_;
  std::filesystem::path directory_;
  std::map<CaseModel, std::unique_ptr<model::Weights>> weights_;
  // The last entry says whether the context exceeds the original one.
  std::map<std::tuple<CaseModel, DType, CaseSizes, bool>, std::unique_ptr<reference::Model>>
      references_;
};

}  // namespace pando::testing
