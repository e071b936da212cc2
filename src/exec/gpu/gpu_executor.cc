#include "exec/gpu/gpu_executor.h"

#include <utility>

#include "base/check.h"
#include "exec/facts.h"

namespace pando::exec {

GpuExecutor::GpuExecutor(const HostedModel& model, const ExecutorOptions& options,
                         const KvSizes& sizes)
    : facts_(facts_of(model.weights.on_host.spec, options, sizes)), model_(model) {
  const std::lock_guard lock(model_.turn);
  pass_ = std::make_unique<gpu::ForwardPass>(*model_.host, model_.weights, options, sizes);
}

GpuExecutor::~GpuExecutor() {
  const std::lock_guard lock(model_.turn);
  pass_.reset();
}

void GpuExecutor::submit(StepPlan plan) {
  PANDO_CHECK(submitted_.size() < static_cast<size_t>(facts_.depth));
  submitted_.push_back(std::move(plan));
}

void GpuExecutor::finish() {
  PANDO_CHECK(!submitted_.empty());
  const StepPlan plan = std::move(submitted_.front());
  submitted_.pop_front();
  const std::lock_guard lock(model_.turn);
  hidden_ = nullptr;
  try {
    pass_->forward(plan, nullptr);
    pass_->wait();
  } catch (...) {
    submitted_.clear();
    throw;
  }
}

// Reads all rows at once, because callers ask for them one by one.
const float* GpuExecutor::hidden(uint32_t first, uint32_t /*n*/) {
  const std::lock_guard lock(model_.turn);
  if (hidden_ == nullptr) hidden_ = pass_->read_rows();
  return hidden_ + first * pass_->rows().width;
}

void GpuExecutor::logits(uint32_t first, uint32_t n, float* out) {
  logits_or_largest(first, std::vector<bool>(n, true), out, nullptr);
}

bool GpuExecutor::logits_or_largest(uint32_t first, const std::vector<bool>& is_wanted, float* out,
                                    Token* largest) {
  const std::lock_guard lock(model_.turn);
  pass_->logits_or_largest(first, is_wanted, out, largest);
  return true;
}

const float* GpuExecutor::compute(const StepPlan& plan, RowRange own, const float* before) {
  PANDO_CHECK(own.begin == 0 && own.end == plan.n_rows());
  const std::lock_guard lock(model_.turn);
  pass_->forward(plan, before);
  return hidden_ = pass_->read_rows();
}

void GpuExecutor::logits_of(const float* hidden, uint32_t n, float* out) {
  const std::lock_guard lock(model_.turn);
  pass_->logits_of(hidden, n, out);
}

size_t GpuExecutor::ready_bytes(size_t n_touched, size_t n_windows_touched) const {
  return (facts_.n_pages - n_touched) * facts_.page_bytes +
         (facts_.n_window_pages - n_windows_touched) * facts_.window_page_bytes;
}

}  // namespace pando::exec
