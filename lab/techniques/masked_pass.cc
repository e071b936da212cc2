#include "lab/techniques/masked_pass.h"

#include <algorithm>
#include <utility>

#include "base/aligned_buffer.h"

namespace pando::lab {
namespace {

class MaskedAttention {
 public:
  explicit MaskedAttention(std::shared_ptr<MaskedPass> pass) : pass_(std::move(pass)) {}

  void run(const exec::LayerPass& layer) {
    const MaskedRows& rows = pass_->rows;
    const kernel::AttentionArgs& args = layer.args;
    const uint32_t n_rows = layer.plan.n_rows(), n_masked = rows.n_rows();
    const size_t q_dim = static_cast<size_t>(args.n_heads) * args.kv.shape.head_dim;
    if (n_masked > 0) run_masked(layer, rows);
    kernel::AttentionArgs rest = args;
    rest.positions = args.positions.subspan(n_masked, n_rows - n_masked - rows.n_idle);
    rest.q = args.q + n_masked * args.q_stride;
    rest.out = args.out + n_masked * q_dim;
    kernel::attention(layer.kernels, layer.pool, rest, layer.scratch);
    std::fill_n(args.out + (n_rows - rows.n_idle) * q_dim, rows.n_idle * q_dim, 0.0f);
    if (layer.layer + 1 == args.kv.shape.n_layers) pass_->n_computed = pass_->n_planned;
  }

 private:
  void run_masked(const exec::LayerPass& layer, const MaskedRows& masked) {
    kernel::AttentionArgs rows = layer.args;
    if (!masked.memory) {
      rows.kv = pages_of_pass(layer.args.kv, masked.pages.size());
      rows.layer = 0;
    } else {
      rows.kv = *masked.memory;
      if (layer.layer == 0) kernel::copy_pages(rows.kv, masked.copies);
    }
    kernel::write_kv(layer.kernels, layer.pool,
                     {rows.kv, rows.layer, layer.keys, masked.slot_begin, masked.slots});
    kernel::masked_attention(layer.kernels, layer.pool, rows,
                             {.stacks = masked.stacks,
                              .pages = masked.pages,
                              .masks = masked.masks,
                              .cell_positions = masked.cell_positions},
                             layer.scratch);
  }

  // Pages for one layer of one pass, in a type that masks can work with.
  kernel::KvView pages_of_pass(const kernel::KvView& kv, size_t n_pages) {
    kernel::KvView view{.shape = kv.shape};
    view.shape.n_layers = 1;
    if (view.shape.type == DType::kI8) view.shape.type = DType::kF16;
    pages_.reserve(n_pages * view.shape.page_bytes());
    view.base = pages_.data();
    return view;
  }

  std::shared_ptr<MaskedPass> pass_;
  AlignedBuffer pages_;  // of one layer: keys and values of the pass only
};

}  // namespace

exec::LayerAttention MaskedPlanner::attention() const {
  return [attention = std::make_shared<MaskedAttention>(pass_)](const exec::LayerPass& layer) {
    attention->run(layer);
  };
}

}  // namespace pando::lab
