#include "exec/ranks/division.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <new>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>

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

// Seconds in which rank 0 gets a message that it asks `rank` for; on other ranks nothing.
double seconds_to_get(Comm& comm, int rank, std::span<std::byte> bytes) {
  std::byte go{};
  if (comm.rank() == rank) {
    comm.receive(0, std::span(&go, 1));
    comm.send(0, bytes);
  }
  if (comm.rank() != 0) return 0;
  const auto start = std::chrono::steady_clock::now();
  comm.send(rank, std::span(&go, 1));
  comm.receive(rank, bytes);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Bytes per second on the slowest link from the last stage to rank 0; on other ranks any number.
// The time of a message of one byte, in which the other rank hears and answers, is left out. The
// first messages open the link.
double measure_link(Comm& comm, const RankLayout& layout) {
  constexpr int kRounds = 2;
  constexpr double kShortest = 1e-6, kForever = std::numeric_limits<double>::infinity();
  std::vector<std::byte> bytes(size_t{2} << 20);
  double slowest = kForever;
  for_last_stage(layout, [&](int rank) {
    double answer = kForever, all = kForever;  // seconds
    for (int round = 0; round < kRounds; ++round) {
      answer = std::min(answer, seconds_to_get(comm, rank, std::span(bytes).first(1)));
      all = std::min(all, seconds_to_get(comm, rank, bytes));
    }
    slowest =
        std::min(slowest, static_cast<double>(bytes.size()) / std::max(all - answer, kShortest));
  });
  return slowest;
}

// Bytes of the logits of a typical step that other ranks send to rank 0.
double logit_bytes(const model::ModelSpec& spec, const RankLayout& layout) {
  const double of_others = layout.spp > 1 ? 1.0 : 1.0 - 1.0 / layout.n_ranks();
  return of_others * kTypicalLogits * spec.vocab * sizeof(float);
}

// The cut that shares have until another one is set.
std::vector<int> cut_by_products(const model::ModelSpec& spec, const RankLayout& layout) {
  std::vector<int> cut;
  for (int stage = 0; stage < layout.spp; ++stage)
    cut.push_back(layers_of_share(spec, {.stage = stage, .n_stages = layout.spp}).first);
  cut.push_back(spec.n_layers());
  return cut;
}

// A rank's part of the model's weights, plus its part of the keys: as if both took equally much
// memory.
struct Sizes {
  std::vector<double> layers, more;  // [n_layers], [n_stages]
};
Sizes sizes_of(const PartCosts& costs, const RankLayout& layout, bool divides_head) {
  Sizes sizes{.layers = {}, .more = std::vector<double>(layout.spp, 0.0)};
  // A rank has 1/tp of the weights of its layers and of a divided head.
  const double of_head = costs.head.weight_bytes * (divides_head ? 1 : layout.tp);
  double weights = of_head, keys = 0;
  for (const PartCost& layer : costs.layers) weights += layer.weight_bytes;
  for (const PartCost& layer : costs.layers) keys += layer.key_bytes;
  const auto part = [](double n, double all) { return all > 0 ? n / all : 0; };
  for (const PartCost& layer : costs.layers)
    sizes.layers.push_back(part(layer.weight_bytes, weights) + part(layer.key_bytes, keys));
  (divides_head ? sizes.more.back() : sizes.more.front()) = part(of_head, weights);
  return sizes;
}

// The fullest rank decides how many pages all ranks have. So no stage is much larger than others,
// as far as whole layers allow it.
double most_of_a_stage(const Sizes& sizes, std::span<const int> firsts) {
  constexpr double kMostOfEven = 1.1, kRounding = 1 + 1e-9;
  double all = std::accumulate(sizes.layers.begin(), sizes.layers.end(), 0.0);
  all = std::accumulate(sizes.more.begin(), sizes.more.end(), all);
  const std::vector<int> evenest = cut_layers(sizes.layers, firsts, sizes.more);
  return kRounding * std::max(kMostOfEven * all / static_cast<double>(sizes.more.size()),
                              slowest_stage(sizes.layers, evenest, sizes.more));
}

// Measured times vary by a few percent.
bool is_clearly_faster(const Division& a, const Division& b) {
  return a.seconds < 0.95 * b.seconds;
}

// The fastest division with a whole or a divided head.
Division best_with_head(const model::ModelSpec& spec, const PartCosts& costs,
                        const RankLayout& layout, double link, bool divides_head) {
  const double n_each = layout.kvp * layout.tp;  // ranks of a stage
  std::vector<double> layers, more(layout.spp, 0.0);
  for (const PartCost& layer : costs.layers) layers.push_back(layer.seconds / n_each);
  more.front() += divides_head ? logit_bytes(spec, layout) / link : costs.head.seconds;
  if (divides_head) more.back() += costs.head.seconds / n_each;
  const auto with_cut = [&](std::vector<int> cut) {
    const double seconds = slowest_stage(layers, cut, more);
    return Division{.cut = std::move(cut), .divides_head = divides_head, .seconds = seconds};
  };
  if (!layout.cut.empty()) return with_cut(layout.cut);
  const std::vector<int> firsts = first_layers(spec);
  const Sizes sizes = sizes_of(costs, layout, divides_head);
  const StageBound bound{
      .sizes = sizes.layers, .more = sizes.more, .most = most_of_a_stage(sizes, firsts)};
  Division by_products = with_cut(cut_by_products(spec, layout));
  Division by_time = with_cut(cut_layers(layers, firsts, more, bound));
  return is_clearly_faster(by_time, by_products) ? by_time : by_products;
}

// [1 if the head is divided, then the cut]
std::vector<int> words_of(const Division& division) {
  std::vector<int> words = {division.divides_head ? 1 : 0};
  words.insert(words.end(), division.cut.begin(), division.cut.end());
  return words;
}

Division receive_division(Comm& comm, const RankLayout& layout, int n_layers) {
  const std::vector<std::byte> bytes = receive_message(comm, 0);
  std::vector<int> words(bytes.size() / sizeof(int));
  std::copy_n(bytes.begin(), words.size() * sizeof(int),
              std::as_writable_bytes(std::span(words)).begin());
  const auto is_cut = [&](std::span<const int> cut) {
    return cut.front() == 0 && cut.back() == n_layers &&
           std::ranges::adjacent_find(cut, std::greater_equal()) == cut.end();
  };
  if (bytes.size() != (static_cast<size_t>(layout.spp) + 2) * sizeof(int) || words[0] < 0 ||
      words[0] > 1 || !is_cut(std::span(words).subspan(1)))
    throw std::runtime_error(
        fmt::format("rank 0 sent {} bytes that are no division of {} layers into {} stages",
                    bytes.size(), n_layers, layout.spp));
  return {.cut = {words.begin() + 1, words.end()}, .divides_head = words[0] == 1};
}

}  // namespace

Division best_division(const model::ModelSpec& spec, const PartCosts& costs,
                       const RankLayout& layout, double link) {
  const auto best = [&](bool divides_head) {
    return best_with_head(spec, costs, layout, link, divides_head);
  };
  if (layout.divides_head) return best(*layout.divides_head);
  Division whole = best(false), divided = best(true);
  return is_clearly_faster(divided, whole) ? divided : whole;
}

}  // namespace pando::exec

namespace pando {

using namespace exec;

Status divide_model(const Device& device, const model::ModelSpec& spec,
                    const model::TensorSource& source, std::optional<DType> requantised,
                    ThreadPool& pool, RankGroup& ranks) {
  RankLayout& layout = ranks.layout;
  Comm& comm = *ranks.comm;
  if (layout.n_ranks() == 1 || (!layout.cut.empty() && layout.divides_head)) return {};
  const double link = measure_link(comm, layout);
  Division division{.cut = layout.cut, .divides_head = layout.divides_head.value_or(false)};
  Status status;
  if (comm.rank() == 0) {
    if (division.cut.empty()) division.cut = cut_by_products(spec, layout);
    try {
      const Result<PartCosts> costs = measure_parts(device, spec, source, requantised, pool);
      if (costs)
        division = best_division(spec, *costs, layout, link);
      else if (costs.error().code != ErrorCode::kUnsupported)
        status = costs.error();
    } catch (const std::bad_alloc&) {
      // There is no memory for one layer; the error of loading says more.
    }
    const std::vector<int> words = words_of(division);
    for (int rank = 1; rank < comm.size(); ++rank)
      send_message(comm, rank, std::as_bytes(std::span(words)));
  } else {
    division = receive_division(comm, layout, spec.n_layers());
  }
  layout.divides_head = division.divides_head;
  layout.cut = std::move(division.cut);
  return status;
}

}  // namespace pando
