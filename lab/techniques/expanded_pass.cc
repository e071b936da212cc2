#include "lab/techniques/expanded_pass.h"

#include <utility>

#include "base/aligned_buffer.h"
#include "lab/kernel/select_rows.h"

namespace pando::lab {
namespace {

class ExpandedAttention {
 public:
  explicit ExpandedAttention(std::shared_ptr<const ExpandedRows> rows) : rows_(std::move(rows)) {}

  void run(const exec::LayerPass& layer) {
    const kernel::AttentionArgs& args = layer.args;
    if (rows_->empty()) return kernel::attention(layer.kernels, layer.pool, args, layer.scratch);
    const size_t q_dim = static_cast<size_t>(args.n_heads) * args.kv.shape.head_dim;
    const size_t n_bytes = rows_->scatter.size() * q_dim * sizeof(float);
    q_.reserve(n_bytes);
    out_.reserve(n_bytes);
    // Keys and values were scattered when they were written to the pages of every copy.
    kernel::select_rows(layer.pool, rows_->scatter, args.q, args.q_stride, q_dim, q_.as<float>());
    kernel::AttentionArgs of_copies = args;
    of_copies.positions = rows_->positions;
    of_copies.q = q_.as<float>();
    of_copies.q_stride = static_cast<int64_t>(q_dim);
    of_copies.out = out_.as<float>();
    kernel::attention(layer.kernels, layer.pool, of_copies, layer.scratch);
    kernel::select_rows(layer.pool, rows_->gather, out_.as<float>(), q_dim, q_dim, args.out);
  }

 private:
  std::shared_ptr<const ExpandedRows> rows_;
  AlignedBuffer q_, out_;  // [n_expanded, n_heads, head_dim] f32
};

}  // namespace

exec::LayerAttention ExpandedPlanner::attention() const {
  return [attention = std::make_shared<ExpandedAttention>(expanded_)](
             const exec::LayerPass& layer) { attention->run(layer); };
}

}  // namespace pando::lab
