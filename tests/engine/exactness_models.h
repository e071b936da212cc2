// The models of exactness cases, and the reference over their weights.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "base/dtype.h"
#include "exec/loaded_weights.h"
#include "reference/reference_forward.h"

namespace pando::testing {

constexpr int kCaseVocab = 64;
constexpr int kCaseContext = 6400;
// Positions that a scaled rotation was made for: the context of a case is below or above it.
constexpr int kCaseOriginal = 48;

// The weights of a case: as stored in one of three types, types made from bf16, or blocks of a GGUF
// file.
enum class CaseWeights {
  kF32,
  kF16,
  kBF16,
  kQ8_0,
  kQ4_0,
  kInt8,
  kQ4_K,
  kBF16Dot,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kIQ4_XS,
  kMXFP4,
};

// Devices that compute the cases. The emulated ones differ in the order of threads.
enum class CaseDevice {
  kCpu,
  kScalar,
  kEmulated,
  kEmulatedBackward,
  kEmulatedShuffled,
  kCuda,
  kOpenCl
};
constexpr bool is_hosted(CaseDevice device) { return device >= CaseDevice::kEmulated; }

struct CaseSizes {
  int page_len, tile_len, span_len;
  auto operator<=>(const CaseSizes&) const = default;
};

// A tiny random model: a named shape with another window and other scaling of its rotation.
struct CaseModel {
  std::string shape;
  int window = 0;                                    // 0: as the shape has it
  model::RopeType rope = model::RopeType::kDefault;  // kDefault: as the shape has it
  bool wide = false;                                 // layers and heads for eight ranks
  auto operator<=>(const CaseModel&) const = default;
  std::string name() const;
};

// The shape's configuration with the changes of the case.
model::ModelConfig config_of(const CaseModel& model);

// Tiny random models with weights of one kind, made once and loaded on demand, in a temporary
// directory.
class CaseModels {
 public:
  explicit CaseModels(CaseWeights kind, CaseDevice device = CaseDevice::kCpu);
  ~CaseModels();

  const DeviceModel& weights(const CaseModel& model) { return *whole(model).weights; }
  bool in_blocks() const;  // its weights are those of GGUF files
  // The share of one of several ranks.
  const DeviceModel& share(const CaseModel& model, const ModelShare& share);
  // Valid until the next call.
  const reference::Model& reference(const CaseModel& model, DType kv_type, const CaseSizes& sizes,
                                    int context);

 private:
  std::unique_ptr<LoadedModel> load(const CaseModel& model, const ModelShare& share) const;
  const LoadedModel& whole(const CaseModel& model);

  CaseWeights kind_;
  CaseDevice device_;
  std::filesystem::path directory_;
  std::map<CaseModel, std::unique_ptr<LoadedModel>> whole_;
  struct InOrder {
    static auto key(const ModelShare& s) {
      return std::tie(s.stage, s.n_stages, s.rank, s.n_ranks, s.copy, s.first_layer, s.end_layer,
                      s.divides_head);
    }
    bool operator()(const ModelShare& a, const ModelShare& b) const { return key(a) < key(b); }
  };
  std::map<CaseModel, std::map<ModelShare, std::unique_ptr<LoadedModel>, InOrder>> shares_;
  // The last entry says whether the context exceeds the original one.
  std::map<std::tuple<CaseModel, DType, CaseSizes, bool>, std::unique_ptr<reference::Model>>
      references_;
};

}  // namespace pando::testing
