#include "exec/ranks/rank_part.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/fault.h"
#include "exec/cpu/cpu_device.h"
#include "exec/share.h"
#include "exec/slice.h"
#include "exec/text_rows.h"

namespace pando::exec {
namespace {

std::span<const std::byte> bytes_of(const float* values, size_t n) {
  return std::as_bytes(std::span(values, n));
}

}  // namespace

KvParts kv_parts(const RankLayout& layout, size_t n_pages_each, int tile_len) {
  return {.n_parts = static_cast<uint32_t>(layout.kvp),
          .n_pages_each = static_cast<uint32_t>(n_pages_each),
          .block_len = layout.kvp_tokens,
          .tile_len = static_cast<uint32_t>(tile_len),
          .rows_each = layout.rows_each};
}

RankPart::RankPart(const DeviceModel& model, ThreadPool& pool, const ExecutorOptions& options,
                   const KvRoom& room, const RankGroup& ranks)
    : ranks_(ranks),
      spec_(model.spec()),
      share_(model.share()),
      layers_(layers_of_share(spec_, share_)),
      d_model_(model.spec().d_model),
      parts_(kv_parts(ranks.layout, room.n_pages, options.kv.tile_len)),
      part_(ranks.layout.part_of(ranks.comm->rank())),
      spare_slot_(static_cast<StateSlot>(room.n_slots)),
      state_bytes_(model.spec().n_heads / share_.n_ranks *
                   kernel::state_len(model.spec().widest_head()) * sizeof(float)),
      executor_(open(model, pool, options, room)) {
  const RankLayout& layout = ranks_.layout;
  const int own = ranks_.comm->rank(), first = own - share_.rank;
  for (int rank = 0; rank < share_.n_ranks; ++rank)
    if (rank != share_.rank) peers_.push_back(first + rank);
  of_peers_.resize(peers_.size());
  if (layout.kvp == 1) return;
  std::vector<int> of_parts;
  for (int part = 0; part < layout.kvp; ++part)
    of_parts.push_back(own + (part - static_cast<int>(part_)) * layout.tp);
  exchange_.emplace(*ranks_.comm, std::move(of_parts), part_, parts_);
}

std::unique_ptr<StageExecutor> RankPart::open(const DeviceModel& model, ThreadPool& pool,
                                              const ExecutorOptions& options, KvRoom room) {
  if (room.n_slots > 0 && ranks_.layout.spp > 1) room.n_slots += kSpareSlots;
  if (share_.n_ranks == 1 && ranks_.layout.kvp == 1) return model.open(options, room, pool);
  RankExchange exchange;
  if (share_.n_ranks > 1)
    exchange.gather = [this](const float* own, uint32_t n_rows, std::span<const int> sizes,
                             float* all) { gather(own, n_rows, sizes, all); };
  if (ranks_.layout.kvp > 1) {
    exchange.spread = [this](float* qkv, size_t row_len) { exchange_->spread(qkv, row_len); };
    exchange.attention = [this](const LayerPass& pass) { exchange_->attend(pass); };
  }
  const auto* const cpu = dynamic_cast<const CpuModel*>(&model);
  PANDO_CHECK(cpu != nullptr);  // check_layout: no other device divides rows
  return cpu->open(options, room, pool, exchange);
}

void RankPart::gather(const float* own, uint32_t n_rows, std::span<const int> sizes, float* all) {
  using Ranges = std::vector<std::pair<int, int>>;
  std::vector<Ranges> ranges;  // of a row, by rank
  std::vector<int> lengths;
  for (int rank = 0; rank < share_.n_ranks; ++rank) {
    ranges.push_back(parts_of(sizes, rank, share_.n_ranks));
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
  const std::vector own_to_each(peers_.size(),
                                bytes_of(own, size_t{n_rows} * lengths[share_.rank]));
  ranks_.comm->exchange(peers_, own_to_each, theirs);
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

std::vector<DealtStep> RankPart::cut(StepPlan plan) const {
  const RankLayout& layout = ranks_.layout;
  if (!plan.texts.empty()) {  // whose rows see one another
    std::vector<DealtStep> whole;
    whole.push_back(deal_rows(std::move(plan), parts_));
    return whole;
  }
  uint32_t n_rows = layout.spp > 1 ? layout.slice_rows * layout.kvp : UINT32_MAX;
  if (layout.kvp > 1) {  // the states of all blocks stay within kMostStates
    constexpr size_t kMostStates = size_t{64} << 20;
    const size_t n_blocks = *std::ranges::max_element(plan.positions) / layout.kvp_tokens + 1;
    n_rows = static_cast<uint32_t>(
        std::clamp<size_t>(kMostStates / (n_blocks * state_bytes_), 1, n_rows));
  }
  std::vector<StepPlan> slices;
  if (plan.n_rows() > n_rows)
    slices = slices_of(plan, n_rows, spare_slot_);
  else
    slices.push_back(std::move(plan));
  std::vector<DealtStep> dealt;
  for (StepPlan& slice : slices) dealt.push_back(deal_rows(std::move(slice), parts_));
  return dealt;
}

// True if ranks of the last stage send rank 0 the hidden states of their outputs. They send even if
// there are none, so that rank 0 is never ahead by more steps than are in flight.
bool RankPart::gives_hidden() const { return ranks_.layout.spp * ranks_.layout.kvp > 1; }

// Ranks wait for messages from others, never for the delivery of their own.
void RankPart::post(int to, const float* values, size_t n) {
  const std::span<const std::byte> bytes = bytes_of(values, n);
  ranks_.comm->post(to, {bytes.begin(), bytes.end()});
}

// The rows that stages hand on before a layer.
size_t RankPart::n_between(const DealtStep& slice, int layer) const {
  const std::vector<TextPasses>& texts = slice.plan.texts;
  if (texts.empty()) return slice.rows_of(part_).size();
  return rows_of_pass(slice.plan, static_cast<uint32_t>(layer)).size();
}

void RankPart::run(std::span<const DealtStep> slices) {
  Comm& comm = *ranks_.comm;
  const int n_stage = ranks_.layout.kvp * ranks_.layout.tp;
  hidden_.clear();
  for (const DealtStep& slice : slices) {
    const StepPlan& own_plan = exchange_ ? exchange_->begin(slice) : slice.plan;
    const RowRange own = slice.rows_of(part_);
    if (!share_.is_first()) {
      const size_t n = n_between(slice, layers_.first) * d_model_;
      before_.resize(std::max<size_t>(n, 1));
      comm.receive(comm.rank() - n_stage, std::as_writable_bytes(std::span(before_.data(), n)));
    }
    const float* rows =
        executor_->compute(own_plan, own, share_.is_first() ? nullptr : before_.data());
    if (share_.is_last()) {
      hidden_.insert(hidden_.end(), rows, rows + slice.n_outputs_of(part_) * d_model_);
    } else {
      post(comm.rank() + n_stage, rows, n_between(slice, layers_.second) * d_model_);
    }
  }
  if (comm.rank() == 0 || !share_.is_last()) return;
  if (share_.rank == 0 && gives_hidden()) post(0, hidden_.data(), hidden_.size());
  if (share_.divides_head) send_logits(slices);
}

// Messages beyond a limit wait until rank 0 reads them, so that they do not fill the memory.
void RankPart::send_logits(std::span<const DealtStep> slices) {
  constexpr size_t kMostPosted = size_t{64} << 20;
  const auto [begin, end] = logits_of_share(spec_, share_);
  if (begin == end) return;  // rank 0 expects no message
  read_.clear();
  const float* row = hidden_.data();
  for (const DealtStep& slice : slices)
    for (size_t i = 0; i < slice.output_parts.size(); ++i) {
      if (slice.output_parts[i] != part_) continue;
      if (slice.reads_logits[i]) read_.insert(read_.end(), row, row + d_model_);
      row += d_model_;
    }
  const size_t n_rows = read_.size() / d_model_;
  for (size_t first = 0, n_posted = 0; first < n_rows; first += kLogitBlock) {
    const size_t n = std::min(kLogitBlock, n_rows - first);
    logits_.resize(n * static_cast<size_t>(end - begin));
    executor_->logits_of(read_.data() + first * d_model_, static_cast<uint32_t>(n), logits_.data());
    const std::span<const std::byte> bytes = bytes_of(logits_.data(), logits_.size());
    n_posted += bytes.size();
    if (n_posted <= kMostPosted)
      post(0, logits_.data(), logits_.size());
    else
      ranks_.comm->send(0, bytes);
  }
}

void RankPart::own_logits(const StepOutputs& outputs, uint32_t first, uint32_t n, float* out) {
  const float* hidden = outputs.hidden.data() + first * d_model_;
  if (!share_.divides_head) return executor_->logits_of(hidden, n, out);
  const auto [begin, end] = logits_of_share(spec_, share_);
  if (begin == end) return;
  const auto is_own = [&](uint32_t i) {
    const StepOutputs::Place& place = outputs.places[first + i];
    return place.part == part_ && place.row != StepOutputs::kNotRead;
  };
  read_.clear();
  for (uint32_t i = 0; i < n; ++i)
    if (is_own(i)) read_.insert(read_.end(), hidden + i * d_model_, hidden + (i + 1) * d_model_);
  const size_t n_read = read_.size() / d_model_;
  logits_.resize(n_read * static_cast<size_t>(end - begin));
  if (n_read > 0) executor_->logits_of(read_.data(), static_cast<uint32_t>(n_read), logits_.data());
  const float* from = logits_.data();
  for (uint32_t i = 0; i < n; ++i) {
    if (!is_own(i)) continue;
    std::copy(from, from + (end - begin), out + i * static_cast<size_t>(spec_.vocab) + begin);
    from += end - begin;
  }
}

std::vector<LogitStream> RankPart::streams_of(int part, size_t n_rows) const {
  const RankLayout& layout = ranks_.layout;
  std::vector<LogitStream> streams;
  for (int i = 0; i < layout.tp; ++i) {
    const int rank = ((layout.spp - 1) * layout.kvp + part) * layout.tp + i;
    const std::pair<int, int> columns = logits_of_share(spec_, layout.share_of(rank));
    if (rank != 0 && columns.first < columns.second)
      streams.emplace_back(*ranks_.comm, rank, columns, n_rows);
  }
  return streams;
}

StepOutputs RankPart::collect(std::span<const DealtStep> slices) {
  StepOutputs outputs{.hidden = collect_hidden(slices)};
  if (!share_.divides_head) return outputs;
  std::vector<uint32_t> n_rows(ranks_.layout.kvp, 0);  // of each part, with logits
  for (const DealtStep& slice : slices)
    for (size_t i = 0; i < slice.output_parts.size(); ++i) {
      const uint32_t part = slice.output_parts[i];
      outputs.places.push_back(
          {part, slice.reads_logits[i] ? n_rows[part]++ : StepOutputs::kNotRead});
    }
  for (int part = 0; part < ranks_.layout.kvp; ++part)
    outputs.streams.push_back(streams_of(part, n_rows[part]));
  return outputs;
}

std::vector<float> RankPart::collect_hidden(std::span<const DealtStep> slices) {
  if (!gives_hidden()) return std::move(hidden_);
  const RankLayout& layout = ranks_.layout;
  std::vector<std::vector<float>> of_parts(layout.kvp);
  for (int part = 0; part < layout.kvp; ++part) {
    const int rank = ((layout.spp - 1) * layout.kvp + part) * layout.tp;
    if (rank == 0) {
      of_parts[part] = std::move(hidden_);
      continue;
    }
    size_t n = 0;
    for (const DealtStep& slice : slices) n += slice.n_outputs_of(part);
    of_parts[part].resize(n * d_model_);
    ranks_.comm->receive(rank, std::as_writable_bytes(std::span(of_parts[part])));
  }
  std::vector<float> hidden;  // of all outputs, in order
  if (fault_on(Fault::kOutputsByPart)) {
    for (const std::vector<float>& part : of_parts)
      hidden.insert(hidden.end(), part.begin(), part.end());
    return hidden;
  }
  std::vector<size_t> taken(layout.kvp, 0);  // values
  for (const DealtStep& slice : slices)
    for (const uint8_t part : slice.output_parts) {
      const auto from = of_parts[part].begin() + static_cast<std::ptrdiff_t>(taken[part]);
      hidden.insert(hidden.end(), from, from + static_cast<std::ptrdiff_t>(d_model_));
      taken[part] += d_model_;
    }
  return hidden;
}

}  // namespace pando::exec
