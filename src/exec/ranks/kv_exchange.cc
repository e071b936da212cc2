#include "exec/ranks/kv_exchange.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/fault.h"

namespace pando::exec {

KvExchange::KvExchange(Comm& comm, std::vector<int> peers, uint32_t part, const KvParts& parts)
    : comm_(comm), part_(part), parts_(parts) {
  for (uint32_t i = 0; i < peers.size(); ++i) {
    if (i == part) continue;
    others_.push_back(peers[i]);
    part_of_.push_back(i);
  }
  parcels_.resize(others_.size());
}

const StepPlan& KvExchange::begin(const DealtStep& step) {
  step_ = &step;
  routes_ = KvRoutes(step.plan, parts_);
  plan_ = plan_of_part(step.plan, parts_, part_);
  here_.assign(size_t{routes_.n_blocks()} * routes_.n_rows(), 0);
  for (uint32_t block = 0; block < routes_.n_blocks(); ++block)
    for (uint32_t row = 0; row < routes_.n_rows(); ++row)
      here_[size_t{block} * routes_.n_rows() + row] = routes_.has(part_, block, row);
  return plan_;
}

// Sends `out` of each parcel, and fills `in` with n_from(i) values. Both ends know if there is
// nothing to exchange.
template <class SizeFrom>
void KvExchange::exchange(const SizeFrom& n_from) {
  std::vector<int> peers;
  std::vector<std::span<const std::byte>> own;
  std::vector<std::span<std::byte>> theirs;
  for (size_t i = 0; i < others_.size(); ++i) {
    Parcel& parcel = parcels_[i];
    parcel.in.resize(n_from(i));
    if (parcel.in.empty() && parcel.out.empty()) continue;
    peers.push_back(others_[i]);
    own.push_back(std::as_bytes(std::span<const float>(parcel.out)));
    theirs.push_back(std::as_writable_bytes(std::span(parcel.in)));
    n_bytes_ += own.back().size();
  }
  if (!peers.empty()) comm_.exchange(peers, own, theirs);
}

void KvExchange::spread(float* qkv, size_t row_len) {
  const RowRange own = own_rows();
  for (size_t i = 0; i < others_.size(); ++i) {
    std::vector<float>& out = parcels_[i].out;
    out.clear();
    for (uint32_t row = own.begin; row < own.end; ++row)
      if (routes_.reads(part_of_[i], row))
        out.insert(out.end(), qkv + row * row_len, qkv + (row + 1) * row_len);
  }
  const auto for_rows_from = [&](size_t i, const auto& use) {
    const RowRange theirs = step_->rows_of(part_of_[i]);
    for (uint32_t row = theirs.begin; row < theirs.end; ++row)
      if (routes_.reads(part_, row)) use(row);
  };
  exchange([&](size_t i) {
    size_t n = 0;
    for_rows_from(i, [&](uint32_t) { n += row_len; });
    return n;
  });
  for (size_t i = 0; i < others_.size(); ++i) {
    const float* from = parcels_[i].in.data();
    for_rows_from(i, [&](uint32_t row) {
      std::copy_n(from, fault_on(Fault::kKeysNotSpread) ? row_len / 2 : row_len,
                  qkv + row * row_len);
      from += row_len;
    });
  }
}

void KvExchange::attend(const LayerPass& pass) {
  const kernel::AttentionArgs& args = pass.args;
  const uint32_t n_rows = routes_.n_rows(), n_blocks = routes_.n_blocks();
  const int head_dim = args.kv.shape.head_dim;
  const size_t row_len = args.n_heads * kernel::state_len(head_dim);
  states_.reserve(n_blocks * n_rows * row_len * sizeof(float));
  const kernel::AttentionBlocks blocks{
      .spans_each = parts_.block_len / static_cast<uint32_t>(args.kv.shape.span_len),
      .here = here_,
      .states = states_.as<float>()};
  kernel::attend_blocks(pass.kernels, pass.pool, args, blocks, pass.scratch);

  // The states of a part's blocks, for the rows of another.
  const auto for_states = [&](uint32_t holder, RowRange rows, const auto& use) {
    for (uint32_t row = rows.begin; row < rows.end; ++row)
      for (uint32_t block = 0; block < n_blocks; ++block)
        if (routes_.has(holder, block, row)) use(blocks.of(block, row, n_rows, row_len));
  };
  for (size_t i = 0; i < others_.size(); ++i) {
    std::vector<float>& out = parcels_[i].out;
    out.clear();
    for_states(part_, step_->rows_of(part_of_[i]),
               [&](const float* state) { out.insert(out.end(), state, state + row_len); });
  }
  const RowRange own = own_rows();
  exchange([&](size_t i) {
    size_t n = 0;
    for_states(part_of_[i], own, [&](float*) { n += row_len; });
    return n;
  });
  for (size_t i = 0; i < others_.size(); ++i) {
    const float* from = parcels_[i].in.data();
    for_states(part_of_[i], own, [&](float* state) {
      std::copy_n(from, row_len, state);
      from += fault_on(Fault::kBlockOfFirstRow) ? 0 : row_len;
    });
  }
  const size_t q_dim = static_cast<size_t>(args.n_heads) * head_dim;
  for_rows(pass.pool, own.size(), [&](uint32_t row) {
    kernel::finish_blocks(pass.kernels, args, blocks, own.begin + row, args.out + row * q_dim);
  });
}

}  // namespace pando::exec
