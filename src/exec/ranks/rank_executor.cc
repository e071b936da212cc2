#include "exec/ranks/rank_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <type_traits>

#include "base/check.h"
#include "base/errors.h"
#include "base/failures.h"
#include "contract/ranks.h"
#include "contract/step_plan_bytes.h"
#include "contract/word_delta.h"
#include "exec/share.h"

namespace pando::exec {
namespace {

// Commands of rank 0 to the others. After kOpen come its parameters, after kStep the difference of
// the plan's bytes from those of the executor's last plan.
enum class Word : uint32_t { kLoad, kOpen, kStep, kClose, kDismiss };

struct Head {
  Word word;
  uint32_t id;  // of an executor
};

// Parameters with which the other ranks make an executor.
struct Opening {
  KvOptions kv;
  uint64_t n_pages, n_window_pages, n_slots;
  uint32_t all_rows, poison_pages;
  char isa[32];
};
static_assert(std::is_trivially_copyable_v<Opening>);

// One step, or opening, at a time: engines of a process may run on different threads.
std::mutex& turn() {
  static std::mutex mutex;
  return mutex;
}

template <class T>
std::vector<std::byte> message(const Head& head, std::span<const T> body) {
  const auto bytes = std::as_bytes(body);
  std::vector<std::byte> all(sizeof(Head) + bytes.size());
  std::memcpy(all.data(), &head, sizeof(Head));
  std::ranges::copy(bytes, all.begin() + sizeof(Head));
  return all;
}

void send_to_others(Comm& comm, std::span<const std::byte> bytes) {
  for (int rank = 1; rank < comm.size(); ++rank) send_message(comm, rank, bytes);
}

// Ranks of later stages may be at work on steps before.
void post_to_others(Comm& comm, const std::vector<std::byte>& bytes) {
  for (int rank = 1; rank < comm.size(); ++rank) post_message(comm, rank, bytes);
}

// The executor of this process whose steps are in flight, or were last. With the turn.
RankExecutor* in_turn = nullptr;

}  // namespace

RankExecutor::RankExecutor(const DeviceModel& model, ThreadPool& pool,
                           const ExecutorOptions& options, const KvRoom& room,
                           const RankGroup& ranks)
    : comm_(*ranks.comm),
      part_(model, pool, options, room, ranks),
      facts_(part_.executor().facts()),
      posts_plans_(ranks.layout.spp > 1) {
  facts_.depth = ranks.layout.spp;
  facts_.window = room.window;
  facts_.n_window_pages = room.n_window_pages;
  facts_.n_slots = room.n_slots;
  if (const RankLayout& layout = ranks.layout; layout.kvp > 1) {
    const KvParts parts = kv_parts(layout, room.n_pages, options.kv.tile_len);
    PANDO_CHECK(layout.kvp_tokens % options.kv.span_len == 0 &&
                std::has_single_bit(layout.kvp_tokens / options.kv.span_len));
    facts_.n_parts = parts.n_parts;
    facts_.part_positions = parts.block_len;
    facts_.n_pages *= parts.n_parts;
    facts_.kv_capacity *= parts.n_parts;
    facts_.longest_path = longest_path(facts_.longest_path, parts);
  }
  static uint32_t next_id = 0;
  const std::scoped_lock lock(turn());
  id_ = next_id++;
  Opening opening{.kv = options.kv,
                  .n_pages = room.n_pages,
                  .n_window_pages = room.n_window_pages,
                  .n_slots = room.n_slots,
                  .all_rows = options.all_rows,
                  .poison_pages = options.poison_pages,
                  .isa = {}};
  PANDO_CHECK(options.isa.size() < sizeof(opening.isa));
  std::ranges::copy(options.isa, opening.isa);
  settle();
  send_to_others(comm_, message(Head{Word::kOpen, id_}, std::span<const Opening>(&opening, 1)));
}

RankExecutor::~RankExecutor() {
  try {
    const std::scoped_lock lock(turn());
    RankExecutor* const last = in_turn;
    if (last == this) in_turn = nullptr;
    if (last != nullptr) last->collect_all();
    send_to_others(comm_, message(Head{Word::kClose, id_}, std::span<const std::byte>()));
  } catch (const std::exception& error) {
    // Unread outputs would be taken for those of other steps.
    comm_.abort(fmt::format("a step failed on rank 0: {}", reason_of(error)));
  }
}

// Receives what is on its way to this process: other ranks may wait until it is read.
void RankExecutor::settle() {
  if (in_turn != nullptr) in_turn->collect_all();
}

// Outputs come in the order in which steps were submitted, by any executor.
void RankExecutor::take_turn() {
  if (in_turn != this) settle();
  in_turn = this;
  outputs_.receive_rest();
}

void RankExecutor::collect_all() {
  outputs_.receive_rest();
  while (!submitted_.empty()) {
    const std::vector<DealtStep> slices = std::move(submitted_.front());
    submitted_.pop_front();
    collected_.push_back(part_.collect(slices));
    collected_.back().receive_rest();
  }
}

// If `part` fails, the other ranks are in the middle of a step.
template <class Part>
void RankExecutor::run_or_abort(const Part& part) {
  try {
    part();
  } catch (const std::exception& error) {
    comm_.abort(fmt::format("a step failed on rank 0: {}", reason_of(error)));
    throw;
  }
}

void RankExecutor::submit(StepPlan plan) {
  std::vector<std::byte> step = to_bytes(plan);
  const std::vector<std::byte> delta = delta_of(last_plan_, step);
  const std::vector<std::byte> bytes =
      message(Head{Word::kStep, id_}, std::span<const std::byte>(delta));
  std::vector<DealtStep> slices = part_.cut(std::move(plan));
  const std::scoped_lock lock(turn());
  PANDO_CHECK(submitted_.size() + collected_.size() < static_cast<size_t>(facts().depth));
  run_or_abort([&] {
    take_turn();
    posts_plans_ ? post_to_others(comm_, bytes) : send_to_others(comm_, bytes);
    last_plan_ = std::move(step);
    part_.run(slices);
    submitted_.push_back(std::move(slices));
  });
}

void RankExecutor::finish() {
  const std::scoped_lock lock(turn());
  PANDO_CHECK(!submitted_.empty() || !collected_.empty());
  if (collected_.empty())
    run_or_abort([&] {
      const std::vector<DealtStep> slices = std::move(submitted_.front());
      submitted_.pop_front();
      try {
        outputs_.drop_rest();
        collected_.push_back(part_.collect(slices));
      } catch (...) {
        submitted_.clear();
        throw;
      }
    });
  outputs_ = std::move(collected_.front());
  collected_.pop_front();
}

PhaseTimes RankExecutor::times() const {
  PhaseTimes times = part_.executor().times();
  times.attention_bytes = part_.n_attention_bytes();
  return times;
}

const float* RankExecutor::hidden(uint32_t first, uint32_t) {
  return outputs_.hidden.data() + size_t{first} * facts().d_model;
}

void RankExecutor::logits(uint32_t first, uint32_t n, float* out) {
  part_.own_logits(outputs_, first, n, out);
  if (outputs_.streams.empty()) return;
  const std::scoped_lock lock(turn());
  run_or_abort([&] { outputs_.receive_logits(first, n, static_cast<size_t>(facts().vocab), out); });
}

}  // namespace pando::exec

namespace pando {

using namespace exec;

void serve_rank(const DeviceModel& model, int threads, const RankGroup& ranks) {
  struct Served {
    std::unique_ptr<ThreadPool> pool;
    std::unique_ptr<RankPart> part;
    std::vector<std::byte> last_plan;
  };
  std::map<uint32_t, Served> served;  // by id
  for (;;) {
    const std::vector<std::byte> bytes = receive_message(*ranks.comm, 0);
    const auto body = std::span(bytes).subspan(sizeof(Head));
    Head head;
    std::memcpy(&head, bytes.data(), sizeof(Head));
    switch (head.word) {
      case Word::kOpen: {
        Opening opening;
        PANDO_CHECK(body.size() == sizeof(opening));
        std::memcpy(&opening, body.data(), sizeof(opening));
        Served& made = served[head.id];
        made.pool = std::make_unique<ThreadPool>(threads);
        // Instruction sets give the same bits: a processor without that of rank 0 uses its best
        // one.
        const Device& device = model.device();
        const Result<std::string> isa = device.isa_name(opening.isa);
        const ExecutorOptions options{.isa = isa ? *isa : device.isa_name("").value(),
                                      .kv = opening.kv,
                                      .all_rows = opening.all_rows != 0,
                                      .poison_pages = opening.poison_pages != 0};
        Result<KvRoom> room =
            device.kv_room(spec_of_share(model.spec(), model.share()), opening.kv);
        if (!room) throw std::runtime_error(room.error().message());
        room->n_pages = opening.n_pages;
        room->n_window_pages = opening.n_window_pages;
        room->n_slots = opening.n_slots;
        made.part = std::make_unique<RankPart>(model, *made.pool, options, *room, ranks);
        break;
      }
      case Word::kStep: {
        Served& of_step = served.at(head.id);
        Result<std::vector<std::byte>> step = apply_delta(of_step.last_plan, body);
        if (!step) throw std::runtime_error(step.error().message());
        of_step.last_plan = std::move(*step);
        Result<StepPlan> plan = step_plan_from_bytes(of_step.last_plan);
        if (!plan) throw std::runtime_error(plan.error().message());
        of_step.part->run(of_step.part->cut(std::move(*plan)));
        break;
      }
      case Word::kClose:
        served.erase(head.id);
        break;
      case Word::kDismiss:
        return;
      case Word::kLoad:
        throw std::runtime_error("rank 0 loads a second model, expected one model for a run");
    }
  }
}

void announce_load(Comm& comm) {
  const std::scoped_lock lock(turn());
  send_to_others(comm, message(Head{Word::kLoad, 0}, std::span<const std::byte>()));
}

bool wait_for_load(Comm& comm) {
  const std::vector<std::byte> bytes = receive_message(comm, 0);
  Head head;
  PANDO_CHECK(bytes.size() == sizeof(Head));
  std::memcpy(&head, bytes.data(), sizeof(Head));
  return head.word == Word::kLoad;
}

void dismiss_ranks(Comm& comm) {
  const std::scoped_lock lock(turn());
  send_to_others(comm, message(Head{Word::kDismiss, 0}, std::span<const std::byte>()));
}

Status check_layout(const Device& device, const model::ModelSpec& spec, const RankLayout& layout,
                    int rank) {
  if (layout.kvp > 1 && spec.n_recurrent_layers() > 0)
    return unsupported("kvp is {}, expected 1 for models with recurrent layers, such as {}",
                       layout.kvp, spec.family_name);
  if (layout.kvp > 1 && spec.both_ways)
    return unsupported("kvp is {}, expected 1 for models whose rows see both ways, such as {}",
                       layout.kvp, spec.family_name);
  if (layout.kvp * layout.tp > 1 && !device.divides_rows())
    return unsupported("kvp is {} and tp is {}, expected 1 for device '{}'", layout.kvp, layout.tp,
                       device.name());
  return check_share(spec, layout.share_of(rank));
}

Result<KvRoom> kv_room_on_ranks(const Device& device, const model::ModelSpec& spec,
                                const KvOptions& options, const RankLayout& layout) {
  // Pages and slots that take no bytes on a rank are not limited by it.
  size_t n_pages = SIZE_MAX, n_window_pages = SIZE_MAX, n_slots = SIZE_MAX, kv_capacity = SIZE_MAX;
  KvRoom first;
  uint32_t window = 0;
  for (int rank = 0; rank < layout.n_ranks(); ++rank) {
    if (Status status = check_layout(device, spec, layout, rank); !status) return status.error();
    const Result<KvRoom> room = device.kv_room(spec_of_share(spec, layout.share_of(rank)), options);
    if (!room) return room.error();
    if (rank == 0) first = *room;
    window = std::max(window, room->window);
    n_pages = std::min(n_pages, room->n_pages);
    kv_capacity = std::min(kv_capacity, room->kv_capacity);
    if (room->window > 0) n_window_pages = std::min(n_window_pages, room->n_window_pages);
    if (room->slot_bytes > 0) n_slots = std::min(n_slots, room->n_slots);
  }
  first.window = window;
  first.kv_capacity = kv_capacity;
  first.n_pages = n_pages;
  first.n_window_pages = window == 0 ? 0 : n_window_pages;
  first.n_slots = n_slots == SIZE_MAX ? 0 : n_slots;
  return first;
}

std::unique_ptr<Executor> open_on_ranks(const DeviceModel& model, const ExecutorOptions& options,
                                        const KvRoom& room, ThreadPool& pool,
                                        const RankGroup& ranks) {
  return std::make_unique<RankExecutor>(model, pool, options, room, ranks);
}

}  // namespace pando
