// Executors whose model is spread over ranks. Defined below the waist, in exec/ranks.
#pragma once

#include <memory>
#include <optional>

#include "contract/device.h"
#include "contract/rank_layout.h"

namespace pando {

class Comm;

// The ranks of a replica, as one of them sees them.
struct RankGroup {
  Comm* comm = nullptr;
  RankLayout layout;
};

// kUnsupported or kInvalidArgument if this rank cannot have its share.
Status check_layout(const Device& device, const model::ModelSpec& spec, const RankLayout& layout,
                    int rank);

// On all ranks of a group, before they load: sets ranks.layout.cut and divides_head, unless they
// are set. Rank 0 measures a layer of each kind, the LM head, and the link from the last stage. The
// slowest stage then takes as little time as possible. If the parts cannot be measured, stages have
// about equal products, and rank 0 has the head. Throws std::runtime_error if a rank is gone.
void divide_model(const Device& device, const model::ModelSpec& spec,
                  const model::TensorSource& source, std::optional<DType> requantised,
                  ThreadPool& pool, RankGroup& ranks);

// Numbers of pages and slots that fit on every rank, and sizes of rank 0's. If positions are
// divided, they are the numbers of one part. Errors: as Device::kv_room and check_layout.
Result<KvRoom> kv_room_on_ranks(const Device& device, const model::ModelSpec& spec,
                                const KvOptions& options, const RankLayout& layout);

// The executor of rank 0, where the other ranks run serve_rank. model: its share; room: from
// kv_room_on_ranks. Throws std::runtime_error if another rank is gone.
std::unique_ptr<Executor> open_on_ranks(const DeviceModel& model, const ExecutorOptions& options,
                                        const KvRoom& room, ThreadPool& pool,
                                        const RankGroup& ranks);
// On every other rank: computes its share of the steps of all executors that rank 0 makes, until
// rank 0 calls dismiss_ranks. Throws std::runtime_error if another rank is gone.
void serve_rank(const DeviceModel& model, int threads, const RankGroup& ranks);
void dismiss_ranks(Comm& comm);

// Rank 0 says that all ranks are to load their shares; the others wait for that. False: rank 0
// called dismiss_ranks instead.
void announce_load(Comm& comm);
bool wait_for_load(Comm& comm);

}  // namespace pando
