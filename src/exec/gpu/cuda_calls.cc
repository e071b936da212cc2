#include "exec/gpu/cuda_calls.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <variant>

#include "base/check.h"

namespace pando::exec::gpu::cuda {
namespace {

constexpr size_t kMostArguments = 32;  // of a kernel

uint64_t word_of(const Arg& arg) {
  uint64_t word = 0;
  std::visit(
      [&](const auto& value) {
        if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(value)>>)
          word = value == nullptr ? 0 : value->handle();
        else
          std::memcpy(&word, &value, sizeof value);
      },
      arg);
  return word;
}

}  // namespace

void Calls::write(DevicePointer to, const void* from, size_t n) {
  calls_.push_back({.kind = Kind::kWrite, .to = to, .from = from, .n = n});
}

void Calls::fill(DevicePointer to, uint8_t value, size_t n) {
  calls_.push_back({.kind = Kind::kFill, .value = value, .to = to, .n = n});
}

void Calls::launch(Kernel kernel, Groups groups, std::span<const Arg> args) {
  PANDO_CHECK(args.size() <= kMostArguments);
  const size_t first = arguments_.size();
  for (const Arg& arg : args) arguments_.push_back(word_of(arg));
  calls_.push_back({.kernel = kernel,
                    .groups = groups,
                    .first_argument = first,
                    .n_arguments = args.size()});
}

void Calls::clear() {
  calls_.clear();
  arguments_.clear();
}

bool Calls::is_alike(const Calls& other, size_t i) const {
  return i < other.size() && calls_[i].kind == other.calls_[i].kind &&
         calls_[i].kernel == other.calls_[i].kernel;
}

bool Calls::is_equal(const Calls& other, size_t i) const {
  return calls_[i] == other.calls_[i] &&
         std::ranges::equal(arguments(calls_[i]), other.arguments(other.calls_[i]));
}

int Calls::make(size_t i, std::span<Function* const> functions, Stream* stream) const {
  const Call& call = calls_[i];
  if (call.kind == Kind::kWrite)
    return api().cuMemcpyHtoDAsync_v2(call.to, call.from, call.n, stream);
  if (call.kind == Kind::kFill) return api().cuMemsetD8Async(call.to, call.value, call.n, stream);
  std::array<void*, kMostArguments> values{};
  std::ranges::transform(arguments(call), values.begin(),
                         [](const uint64_t& word) { return const_cast<uint64_t*>(&word); });
  const auto kernel = static_cast<size_t>(call.kernel);
  const auto n_threads = static_cast<unsigned>(kKernels[kernel].n_threads);
  return api().cuLaunchKernel(functions[kernel], call.groups.x, call.groups.y, call.groups.z,
                              n_threads, 1, 1, 0, stream, values.data(), nullptr);
}

const char* Calls::name(size_t i) const {
  switch (calls_[i].kind) {
    case Kind::kWrite:
      return "cuMemcpyHtoDAsync";
    case Kind::kFill:
      return "cuMemsetD8Async";
    case Kind::kLaunch:
      break;
  }
  return kKernels[static_cast<size_t>(calls_[i].kernel)].name;
}

}  // namespace pando::exec::gpu::cuda
