#include "exec/ranks/division.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <utility>

#include "base/check.h"
#include "comm/comm.h"
#include "contract/ranks.h"
#include "exec/cut_layers.h"
#include "exec/share.h"

namespace pando::exec {
namespace {

// Calls use(rank) for the ranks of the last stage but rank 0.
template <class Use>
void for_last_stage(const RankLayout& layout, const Use& use) {
  const int n_stage = layout.kvp * layout.tp;
  for (int rank = std::max(1, layout.n_ranks() - n_stage); rank < layout.n_ranks(); ++rank)
    use(rank);
}

// Bytes per second on the slowest link from the last stage to rank 0; on other ranks 0. The first
// of two messages opens the link.
double measure_link(Comm& comm, const RankLayout& layout) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRounds = 2;
  std::vector<std::byte> bytes(size_t{2} << 20);
  std::byte go{};
  double slowest = std::numeric_limits<double>::infinity();
  for_last_stage(layout, [&](int rank) {
    double fastest = 0;
    for (int round = 0; round < kRounds; ++round) {
      if (comm.rank() == rank) {
        comm.receive(0, std::span(&go, 1));
        comm.send(0, bytes);
      } else if (comm.rank() == 0) {
        const Clock::time_point start = Clock::now();
        comm.send(rank, std::span(&go, 1));
        comm.receive(rank, bytes);
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        fastest = std::max(fastest, static_cast<double>(bytes.size()) / seconds);
      }
    }
    slowest = std::min(slowest, fastest);
  });
  return slowest;
}

// Bytes of the logits of a typical step that other ranks send to rank 0.
double logit_bytes(const model::ModelSpec& spec, const RankLayout& layout) {
  const double of_others = layout.spp > 1 ? 1.0 : 1.0 - 1.0 / layout.n_ranks();
  return of_others * kTypicalLogits * spec.vocab * sizeof(float);
}

}  // namespace

Division best_division(const model::ModelSpec& spec, const PartCosts& costs,
                       const RankLayout& layout, double link) {
  const double n_each = layout.kvp * layout.tp;  // ranks of a stage
  std::vector<double> layers = costs.layers;
  for (double& seconds : layers) seconds /= n_each;
  Division best;
  for (const bool divides : {false, true}) {
    if (layout.divides_head.value_or(divides) != divides) continue;
    std::vector<double> more(layout.spp, 0.0);
    more.front() += divides ? logit_bytes(spec, layout) / link : costs.head;
    if (divides) more.back() += costs.head / n_each;
    Division division{.cut = layout.cut, .divides_head = divides};
    if (division.cut.empty()) division.cut = cut_layers(layers, first_layers(spec), more);
    division.seconds = slowest_stage(layers, division.cut, more);
    if (best.cut.empty() || division.seconds < best.seconds) best = std::move(division);
  }
  return best;
}

}  // namespace pando::exec

namespace pando {

using namespace exec;

void divide_model(const Device& device, const model::ModelSpec& spec,
                  const model::TensorSource& source, std::optional<DType> requantised,
                  ThreadPool& pool, RankGroup& ranks) {
  RankLayout& layout = ranks.layout;
  Comm& comm = *ranks.comm;
  if (layout.n_ranks() == 1 || (!layout.cut.empty() && layout.divides_head)) return;
  const double link = measure_link(comm, layout);
  std::vector<int> words;  // 1 if the head is divided, then the cut
  if (comm.rank() == 0) {
    Division division{.cut = layout.cut, .divides_head = layout.divides_head.value_or(false)};
    try {
      if (const auto costs = measure_parts(device, spec, source, requantised, pool))
        division = best_division(spec, *costs, layout, link);
    } catch (const std::exception&) {
      // Memory for one layer is short, and loading says more.
    }
    words = {division.divides_head ? 1 : 0};
    words.insert(words.end(), division.cut.begin(), division.cut.end());
    for (int rank = 1; rank < comm.size(); ++rank)
      send_message(comm, rank, std::as_bytes(std::span(words)));
  } else {
    const std::vector<std::byte> bytes = receive_message(comm, 0);
    PANDO_CHECK(bytes.size() >= sizeof(int));
    words.resize(bytes.size() / sizeof(int));
    std::copy(bytes.begin(), bytes.end(), std::as_writable_bytes(std::span(words)).begin());
  }
  layout.divides_head = words[0] != 0;
  layout.cut.assign(words.begin() + 1, words.end());
}

}  // namespace pando
