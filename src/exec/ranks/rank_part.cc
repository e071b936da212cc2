#include "exec/ranks/rank_part.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/fault.h"
#include "step/slice.h"

namespace pando::exec {
namespace {

std::span<const std::byte> bytes_of(const float* values, size_t n) {
  return std::as_bytes(std::span(values, n));
}

}  // namespace

RankPart::RankPart(const model::Weights& weights, ThreadPool& pool, CpuOptions options,
                   const KvSizes& sizes, const Ranks& ranks)
    : ranks_(ranks),
      share_(weights.share),
      d_model_(weights.config.d_model),
      executor_(
          weights, pool,
          [&] {
            if (share_.n_ranks > 1)
              options.gather = [this](const float* own, uint32_t n_rows, std::span<const int> sizes,
                                      float* all) { gather(own, n_rows, sizes, all); };
            return std::move(options);
          }(),
          sizes) {
  const int first = ranks_.comm->rank() - share_.rank;
  for (int rank = 0; rank < share_.n_ranks; ++rank)
    if (rank != share_.rank) peers_.push_back(first + rank);
  of_peers_.resize(peers_.size());
}

void RankPart::gather(const float* own, uint32_t n_rows, std::span<const int> sizes, float* all) {
  using Ranges = std::vector<std::pair<int, int>>;
  std::vector<Ranges> ranges;  // of a row, by rank
  std::vector<int> lengths;
  for (int rank = 0; rank < share_.n_ranks; ++rank) {
    ranges.push_back(model::parts_of(sizes, rank, share_.n_ranks));
    lengths.push_back(0);
    for (const auto& [begin, end] : ranges.back()) lengths.back() += end - begin;
  }
  const int n = std::accumulate(sizes.begin(), sizes.end(), 0);
  std::vector<std::span<std::byte>> theirs;
  for (size_t i = 0; i < peers_.size(); ++i) {
    const int rank = static_cast<int>(i) + (static_cast<int>(i) >= share_.rank ? 1 : 0);
    of_peers_[i].resize(size_t{n_rows} * lengths[rank]);
    theirs.push_back(std::as_writable_bytes(std::span(of_peers_[i])));
  }
  ranks_.comm->exchange(peers_, bytes_of(own, size_t{n_rows} * lengths[share_.rank]), theirs);
  for (int rank = 0; rank < share_.n_ranks; ++rank) {
    const int peer = rank - (rank > share_.rank ? 1 : 0);
    const bool is_own = rank == share_.rank || (peer == 0 && fault_on(Fault::kGatherOwnTwice));
    const float* from = is_own ? own : of_peers_[peer].data();
    for (uint32_t row = 0; row < n_rows; ++row)
      for (const auto& [begin, end] : ranges[rank]) {
        std::copy_n(from, end - begin, all + size_t{row} * n + begin);
        from += end - begin;
      }
  }
}

// Empty: the plan stays whole. States go from row to row, so a state task does too.
std::vector<StepPlan> RankPart::slices(const StepPlan& plan) const {
  if (share_.n_stages == 1 || !plan.state_tasks.empty() ||
      plan.n_rows() <= ranks_.layout.slice_rows)
    return {};
  return slices_of(plan, ranks_.layout.slice_rows);
}

const float* RankPart::run(const StepPlan& plan) {
  Comm& comm = *ranks_.comm;
  const int tp = ranks_.layout.tp, last = comm.size() - tp;  // the first rank of the last stage
  const size_t n_hidden = plan.outputs.size() * d_model_;
  hidden_.clear();
  const std::vector<StepPlan> cut = slices(plan);
  for (const StepPlan& slice : cut.empty() ? std::span(&plan, 1) : std::span(cut)) {
    const size_t n = slice.n_rows() * d_model_;
    if (!share_.is_first()) {
      before_.resize(n);
      comm.receive(comm.rank() - tp, std::as_writable_bytes(std::span(before_)));
    }
    const float* rows = executor_.compute(slice, share_.is_first() ? nullptr : before_.data());
    if (share_.is_last()) {
      hidden_.insert(hidden_.end(), rows, rows + slice.outputs.size() * d_model_);
    } else {
      comm.send(comm.rank() + tp, bytes_of(rows, n));
    }
  }
  if (comm.rank() == last && last != 0 && n_hidden > 0)
    comm.send(0, bytes_of(hidden_.data(), n_hidden));
  if (comm.rank() != 0) return nullptr;
  if (last != 0 && n_hidden > 0) {
    hidden_.resize(n_hidden);
    comm.receive(last, std::as_writable_bytes(std::span(hidden_)));
  }
  return hidden_.data();
}

}  // namespace pando::exec
