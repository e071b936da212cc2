#include "cuda/driver_state.h"

#include <cstring>
#include <exception>
#include <new>

namespace pando::testing::cuda {
namespace {

constexpr std::align_val_t kAlignment{256};

thread_local Context* current = nullptr;

int launch(const Operation& launched) {
  const std::vector<Parameter>& parameters = parameters_of(launched.kernel);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const uint64_t address = launched.arguments[i];
    if (parameters[i].index > 0 || address == 0) continue;
    if (!state().memory.has(address, 1) || address % parameters[i].alignment != 0)
      return kIllegalAddress;
  }
  try {
    run_kernel(launched.kernel, launched.groups, launched.arguments);
  } catch (const std::exception&) {
    return kLaunchFailed;
  }
  return 0;
}

int carry_out_one(const Operation& one) {
  if (one.kind == Operation::kLaunch) return launch(one);
  if (!state().memory.has(one.device, one.n)) return kIllegalAddress;
  auto* const device = reinterpret_cast<std::byte*>(one.device);
  if (one.kind == Operation::kFill) {
    std::memset(device, one.value, one.n);
  } else if (one.kind == Operation::kCopyOut) {
    std::memcpy(const_cast<void*>(one.host), device, one.n);
  } else if (!one.copied.empty()) {
    std::memcpy(device, one.copied.data(), one.n);
  } else {
    if (!state().pinned.has(reinterpret_cast<uint64_t>(one.host), one.n)) return kIllegalAddress;
    std::memcpy(device, one.host, one.n);
  }
  return 0;
}

}  // namespace

uint64_t Memory::allocate(size_t n) {
  void* const memory = ::operator new(n, kAlignment);
  std::memset(memory, 0xff, n);
  const auto address = reinterpret_cast<uint64_t>(memory);
  all_.emplace(address, Block{std::unique_ptr<void, Free>(memory), n});
  return address;
}

void Memory::Free::operator()(void* memory) const { ::operator delete(memory, kAlignment); }

bool Memory::has(uint64_t address, size_t n) const {
  auto after = all_.upper_bound(address);
  if (after == all_.begin()) return false;
  const auto& [begin, block] = *--after;
  return address - begin <= block.n && n <= block.n - (address - begin);
}

size_t Memory::bytes() const {
  size_t sum = 0;
  for (const auto& [address, block] : all_) sum += block.n;
  return sum;
}

State& state() {
  static State all;
  return all;
}

int carry_out(Stream& stream) {
  const Operations pending = std::move(stream.pending);
  stream.pending.clear();
  for (const Operation& one : pending)
    if (state().lost == 0) state().lost = carry_out_one(one);
  return state().lost;
}

void set_current(Context* context) { current = context; }

bool breaks_capture() {
  bool broken = false;
  for (auto& [stream, owner] : state().streams)
    if (stream->captured && stream->capturing == std::this_thread::get_id())
      broken = stream->is_broken = true;
  return broken;
}

int enter(const char* function, Needs needs) {
  State& all = state();
  if (const auto found = all.failures.find(function); found != all.failures.end())
    if (--found->second.first == 0) {
      const int code = found->second.second;
      all.failures.erase(found);
      if (code == kIllegalAddress || code == kLaunchFailed) all.lost = code;
      return code;
    }
  ++all.n_calls[function];
  if (!all.is_initialised) return kNotInitialised;
  if (needs == Needs::kNothing) return 0;
  if (current != &all.context || all.n_retained == 0) return kInvalidContext;
  if (all.lost != 0) return all.lost;
  if (needs == Needs::kNoCapture && breaks_capture()) return kCaptureUnsupported;
  return 0;
}

Held held() {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  return {.memory = all.memory.size(),
          .pinned = all.pinned.size(),
          .contexts = all.n_retained,
          .streams = all.streams.size(),
          .modules = all.modules.size(),
          .graphs = all.graphs.size(),
          .executables = all.executables.size()};
}

size_t n_calls(const std::string& function) {
  const std::lock_guard lock(state().mutex);
  return state().n_calls[function];
}

void reset_counts() {
  const std::lock_guard lock(state().mutex);
  state().n_calls.clear();
}

void fail(const std::string& function, int nth, int code) {
  const std::lock_guard lock(state().mutex);
  state().failures[function] = {nth, code};
}

}  // namespace pando::testing::cuda
