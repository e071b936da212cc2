#include "exec/gpu/cuda_queue.h"

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <utility>

namespace pando::exec::gpu::cuda {
namespace {

constexpr size_t kLeastCalls = 16;  // of a graph; shorter lists are not kept
// A graph may have one changed call in four. Layers of a mixture of experts have more: their
// kernels are the same, but the weights differ.
constexpr size_t kMostChanged = 4;

}  // namespace

Queue::~Queue() {
  if (stream_ == nullptr) return;
  api().cuStreamSynchronize(stream_);
  drop_graph();
  api().cuStreamDestroy_v2(stream_);
}

void Queue::open() { check(api().cuStreamCreate(&stream_, kNonBlocking), "cuStreamCreate"); }

void Queue::check(int code, const char* call) const {
  if (code != 0) throw std::runtime_error(fmt::format("{}: {}: {}", device_, call, words_of(code)));
}

void Queue::write(DevicePointer to, const void* from, size_t n) {
  calls_.write(to, from, n);
  take_last();
}

void Queue::fill(DevicePointer to, uint8_t value, size_t n) {
  calls_.fill(to, value, n);
  take_last();
}

void Queue::launch(Kernel kernel, Groups groups, std::span<const Arg> args) {
  calls_.launch(kernel, groups, args);
  take_last();
}

void Queue::take_last() {
  const size_t last = calls_.size() - 1;
  if (!is_held_) return check(calls_.make(last, functions_, stream_), calls_.name(last));
  const bool is_alike = calls_.is_alike(before_, last);
  if (is_alike && !calls_.is_equal(before_, last)) ++n_changed_;
  if (!is_alike || n_changed_ * kMostChanged > before_.size()) make_held();
}

void Queue::make_held() {
  if (!is_held_) return;
  is_held_ = false;
  for (size_t i = 0; i < calls_.size(); ++i)
    check(calls_.make(i, functions_, stream_), calls_.name(i));
}

void Queue::launch_held() {
  if (!is_held_ || calls_.size() != before_.size()) return make_held();
  const bool is_made = graph_ != nullptr && n_changed_ == 0;
  if (!is_made && !make_graph()) return make_held();
  is_held_ = false;
  check(api().cuGraphLaunch(graph_, stream_), "cuGraphLaunch");
  is_graph_ = true;
}

// Captures the calls, and updates the graph or makes a new one. A capture allows no call that waits
// or allocates.
bool Queue::make_graph() {
  if (api().cuStreamBeginCapture_v2(stream_, kCaptureOfThread) != 0) return false;
  bool is_captured = true;
  for (size_t i = 0; i < calls_.size() && is_captured; ++i)
    is_captured = calls_.make(i, functions_, stream_) == 0;
  Graph* ended = nullptr;
  is_captured = api().cuStreamEndCapture(stream_, &ended) == 0 && is_captured;
  const auto destroy = [](Graph* graph) { api().cuGraphDestroy(graph); };
  const std::unique_ptr<Graph, decltype(destroy)> graph(ended, destroy);
  if (!is_captured) return false;
  UpdateResult result{};
  if (graph_ != nullptr && api().cuGraphExecUpdate_v2(graph_, graph.get(), &result) == 0)
    return true;
  drop_graph();
  if (api().cuGraphInstantiateWithFlags(&graph_, graph.get(), 0) == 0) return true;
  graph_ = nullptr;
  return false;
}

void Queue::drop_graph() {
  if (graph_ != nullptr) api().cuGraphExecDestroy(graph_);
  graph_ = nullptr;
}

void Queue::read(DevicePointer from, void* to, size_t n) {
  launch_held();
  if (n > 0) check(api().cuMemcpyDtoHAsync_v2(to, from, n, stream_), "cuMemcpyDtoHAsync");
  wait();
}

void Queue::wait() {
  launch_held();
  check(api().cuStreamSynchronize(stream_), "cuStreamSynchronize");
  if (calls_.size() >= kLeastCalls) {
    if (!is_graph_) drop_graph();
    std::swap(before_, calls_);
  }
  calls_.clear();
  n_changed_ = 0;
  is_held_ = before_.size() > 0;
  is_graph_ = false;
}

}  // namespace pando::exec::gpu::cuda
