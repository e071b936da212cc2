#include "exec/cpu/layers/experts_layer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/fault.h"
#include "exec/cpu/layers/activate.h"
#include "exec/cpu/layers/rows.h"
#include "exec/cpu/layers/stopwatch.h"

namespace pando::exec {
namespace {

// Entries that are multiplied at a time, unless one expert has more: their outputs stay in memory
// until they are added.
constexpr size_t kMostEntries = 4096;

}  // namespace

ExpertsLayer::ExpertsLayer(const model::ModelSpec& spec, const model::ModelSpec& whole,
                           const kernel::Kernels& kernels, ThreadPool& pool,
                           const GatherRows& gather, PhaseTimes& times)
    : spec_(spec),
      experts_(spec.experts),
      d_model_(spec.d_model),
      router_scale_(static_cast<float>(1.0 / std::sqrt(static_cast<double>(spec.d_model)))),
      d_ff_(whole.experts.d_ff),
      shared_d_ff_(whole.experts.shared_d_ff),
      kernels_(kernels),
      pool_(pool),
      gather_(gather),
      times_(times),
      routers_(pool.n_threads(), Router(experts_, kernels)) {}

void ExpertsLayer::Groups::add(const Stack& gate_up_of_one, const kernel::PackedMatrix& down_of_one,
                               int end) {
  gate_up.emplace_back(gate_up_of_one);
  down.emplace_back(&down_of_one, 1);
  ends.push_back(end);
}

void ExpertsLayer::run(const LayerWeights& layer, uint32_t n_rows, ResidualStream& x,
                       Products& products) {
  norm_rows(layer, n_rows, x);
  choose(layer, n_rows, products);
  sort_by_expert(n_rows);
  const size_t own_model = layer.experts[0].down.n();
  own_sums_.reserve(gather_ ? n_rows * own_model * sizeof(float) : 0);
  float* const sums = gather_ ? own_sums_.as<float>() : x.sums();
  std::memset(sums, 0, n_rows * own_model * sizeof(float));
  for (Batch batch = batch_from(0); batch.size() > 0; batch = batch_from(batch.end))
    add_batch(layer, batch, n_rows, sums, products);
  if (gather_) gather_(sums, n_rows, {{d_model_}}, x.sums());
  if (!layer.experts_sum_norm.empty())
    for_rows(pool_, n_rows, [&](uint32_t row) {
      float* const sum = x.sums() + size_t{row} * d_model_;
      kernels_.rms_norm(sum, layer.experts_sum_norm.data(), spec_.rms_eps, d_model_, sum);
    });
  if (!layer.gate_up.empty()) add_shared(layer, n_rows, x.sums(), products);
}

// Computes the norms that the shared expert, the experts and the router read.
void ExpertsLayer::norm_rows(const LayerWeights& layer, uint32_t n_rows, ResidualStream& x) {
  Stopwatch watch;
  const size_t n_bytes = size_t{n_rows} * d_model_ * sizeof(float);
  normed_.reserve(n_bytes);
  const auto norm_again = [&](uint32_t row, std::span<const float> norm, AlignedBuffer& to) {
    kernels_.rms_norm(x.row(row), norm.data(), spec_.rms_eps, d_model_, row_of(to, row));
  };
  if (!layer.experts_norm.empty()) expert_rows_.reserve(n_bytes);
  if (!layer.router_norm.empty()) routed_.reserve(n_bytes);
  for_rows(pool_, n_rows, [&](uint32_t row) {
    x.read(row, layer.feed_forward_norm, n_rows, row_of(normed_, row));
    if (!layer.experts_norm.empty()) norm_again(row, layer.experts_norm, expert_rows_);
    if (layer.router_norm.empty()) return;
    norm_again(row, layer.router_norm, routed_);
    kernels_.scale(row_of(routed_, row), router_scale_, d_model_, row_of(routed_, row));
  });
  watch.lap(times_.row_ops_s);
}

void ExpertsLayer::choose(const LayerWeights& layer, uint32_t n_rows, Products& products) {
  const size_t n_experts = experts_.n_experts, n_used = experts_.n_used;
  logits_.reserve(n_rows * n_experts * sizeof(float));
  const AlignedBuffer& read = layer.router_norm.empty() ? normed_ : routed_;
  float* const logits = logits_.as<float>();
  products.multiply(
      layer.router, n_rows,
      [&](int row, float*) { return row_of(read, static_cast<uint32_t>(row)); }, logits);
  Stopwatch watch;
  chosen_.resize(n_rows * n_used);
  constexpr uint32_t kRowsEach = 8;
  pool_.parallel_runs((n_rows + kRowsEach - 1) / kRowsEach, [&](int64_t item, int worker) {
    const uint32_t begin = static_cast<uint32_t>(item) * kRowsEach;
    for (uint32_t row = begin; row < std::min(begin + kRowsEach, n_rows); ++row)
      routers_[worker].choose(layer, std::span(logits + row * n_experts, n_experts),
                              std::span(chosen_).subspan(row * n_used, n_used));
  });
  watch.lap(times_.row_ops_s);
}

void ExpertsLayer::sort_by_expert(uint32_t n_rows) {
  const size_t n_used = experts_.n_used;
  begin_of_.assign(experts_.n_experts + 1, 0);
  for (const ChosenExpert& one : chosen_) ++begin_of_[one.expert + 1];
  for (size_t i = 1; i < begin_of_.size(); ++i) begin_of_[i] += begin_of_[i - 1];
  entries_.resize(chosen_.size());
  entry_of_.resize(chosen_.size());
  std::vector<uint32_t> next(begin_of_.begin(), begin_of_.end() - 1);
  for (uint32_t row = 0; row < n_rows; ++row)
    for (size_t i = row * n_used; i < (row + 1) * n_used; ++i) {
      const int expert = chosen_[i].expert;
      entry_of_[i] = next[expert]++;
      entries_[entry_of_[i]] = {row, expert};
    }
  if (fault_on(Fault::kExpertRowsReversed))
    for (int expert = 0; expert < experts_.n_experts; ++expert)
      std::reverse(entries_.begin() + begin_of_[expert], entries_.begin() + begin_of_[expert + 1]);
}

// All entries of as many experts as there is room for, one at least.
ExpertsLayer::Batch ExpertsLayer::batch_from(size_t begin) const {
  size_t end = begin;
  while (end < entries_.size()) {
    const size_t next = begin_of_[entries_[end].expert + 1];
    if (end > begin && next - begin > kMostEntries) break;
    end = next;
  }
  return {begin, end};
}

// sums += outputs of the batch's experts, [n_rows, own d_model] f32.
void ExpertsLayer::add_batch(const LayerWeights& layer, Batch batch, uint32_t n_rows, float* sums,
                             Products& products) {
  groups_.clear();
  for (size_t end = batch.begin; end < batch.end;) {
    const int index = entries_[end].expert;
    end = begin_of_[index + 1];
    const ExpertWeights& expert = layer.experts[index];
    groups_.add(expert.gate_up, expert.down, static_cast<int>(end - batch.begin));
  }
  const AlignedBuffer& read = layer.experts_norm.empty() ? normed_ : expert_rows_;
  apply(
      experts_.d_ff, d_ff_,
      [&](int i, float*) { return row_of(read, entries_[batch.begin + i].row); },
      [&](int i, float* gate_up) {
        const auto& bias = layer.experts[entries_[batch.begin + i].expert].gate_up_bias;
        if (!bias.empty()) kernels_.add(gate_up, bias.data(), static_cast<int>(bias.size()));
      },
      products);
  Stopwatch watch;
  const int n = layer.experts[0].down.n();
  const size_t n_used = experts_.n_used;
  for_rows(pool_, n_rows, [&](uint32_t row) {
    for (size_t i = row * n_used; i < (row + 1) * n_used; ++i) {
      if (entry_of_[i] < batch.begin || entry_of_[i] >= batch.end) continue;
      float* const y = outputs_.as<float>() + (entry_of_[i] - batch.begin) * n;
      const std::vector<float>& bias = layer.experts[chosen_[i].expert].down_bias;
      if (!bias.empty()) kernels_.add(y, bias.data(), n);
      kernels_.scale(y, chosen_[i].weight, n, y);
      kernels_.add(sums + size_t{row} * n, y, n);
    }
  });
  watch.lap(times_.row_ops_s);
}

// sums += output of the shared expert, [n_rows, d_model] f32.
void ExpertsLayer::add_shared(const LayerWeights& layer, uint32_t n_rows, float* sums,
                              Products& products) {
  groups_.clear();
  groups_.add(layer.gate_up, layer.down, static_cast<int>(n_rows));
  apply(
      experts_.shared_d_ff, shared_d_ff_,
      [&](int row, float*) { return row_of(normed_, static_cast<uint32_t>(row)); },
      [](int, float*) {}, products);
  float* shared = outputs_.as<float>();
  if (gather_) {
    all_outputs_.reserve(size_t{n_rows} * d_model_ * sizeof(float));
    gather_(shared, n_rows, {{d_model_}}, all_outputs_.as<float>());
    shared = all_outputs_.as<float>();
  }
  Stopwatch watch;
  for_rows(pool_, n_rows, [&](uint32_t row) {
    float* const y = shared + size_t{row} * d_model_;
    if (!layer.shared_sum_norm.empty())
      kernels_.rms_norm(y, layer.shared_sum_norm.data(), spec_.rms_eps, d_model_, y);
    if (!layer.shared_gate.empty()) {
      float gate = kernels_.dot(row_of(normed_, row), layer.shared_gate.data(), d_model_);
      kernels_.sigmoids(&gate, 1, &gate);
      kernels_.scale(y, gate, d_model_, y);
    }
    kernels_.add(sums + size_t{row} * d_model_, y, d_model_);
  });
  watch.lap(times_.row_ops_s);
}

// outputs = down(activation(gate, up)) for the rows of all groups. d_ff: of this rank.
void ExpertsLayer::apply(int d_ff, int whole_d_ff, kernel::RowSource source, AddBias add_bias,
                         Products& products) {
  const auto n_rows = static_cast<uint32_t>(groups_.ends.back());
  const int inner = spec_.n_inner() * d_ff;
  gate_up_.reserve(size_t{n_rows} * inner * sizeof(float));
  outputs_.reserve(size_t{n_rows} * groups_.down[0][0].n() * sizeof(float));
  products.multiply(groups_.gate_up, groups_.ends, source, gate_up_.as<float>());
  const auto activated = [&](int row, float* own) {
    float* const gate_up = gate_up_.as<float>() + int64_t{row} * inner;
    add_bias(row, gate_up);
    activate(kernels_, spec_, gate_up, d_ff, own);
    if (fault_on(Fault::kExpertTailLane)) own[d_ff - 1] = gate_up[d_ff - 1] * gate_up[inner - 1];
    return own;
  };
  if (!gather_)
    return products.multiply(groups_.down, groups_.ends, activated, outputs_.as<float>());
  inner_.reserve(size_t{n_rows} * d_ff * sizeof(float));
  all_inner_.reserve(size_t{n_rows} * whole_d_ff * sizeof(float));
  for_rows(pool_, n_rows, [&](uint32_t row) {
    activated(static_cast<int>(row), inner_.as<float>() + size_t{row} * d_ff);
  });
  gather_(inner_.as<float>(), n_rows, {{whole_d_ff}}, all_inner_.as<float>());
  products.multiply(
      groups_.down, groups_.ends,
      [&](int row, float*) { return all_inner_.as<float>() + int64_t{row} * whole_d_ff; },
      outputs_.as<float>());
}

}  // namespace pando::exec
