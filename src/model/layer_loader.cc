#include "model/layer_loader.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "base/errors.h"
#include "base/option_names.h"

namespace pando::model {
namespace {

bool alike(const std::vector<float>&, const std::vector<float>&) { return true; }
bool alike(const kernel::PackedMatrix& a, const kernel::PackedMatrix& b) {
  return a.type() == b.type();
}
bool alike(const Stack& a, const Stack& b) {
  return std::ranges::equal(a, b, {}, &kernel::PackedMatrix::type, &kernel::PackedMatrix::type);
}

}  // namespace

Status LayerLoader::load(int index, LayerWeights& layer) const {
  std::vector<WeightSpec> specs = config_.family->layer_weights(config_, index);
  for (auto next = specs.begin(); next != specs.end();) {
    const LayerPart part = next->part;
    const auto end = std::stable_partition(
        next, specs.end(), [&](const WeightSpec& spec) { return spec.part == part; });
    const Specs of_part(next, end);
    Status status =
        std::visit([&](auto member) { return load_part(of_part, index, member, layer); }, part);
    if (!status) return status;
    next = end;
  }
  return {};
}

Status LayerLoader::load_part(Specs, int, std::monostate, LayerWeights&) const {
  PANDO_CHECK(false);
}

Status LayerLoader::load_part(Specs specs, int index, std::vector<float> LayerWeights::*member,
                              LayerWeights& layer) const {
  return fill(tensors_, tensors_.stored_as(specs), index, layer.*member, member);
}

Status LayerLoader::load_part(Specs specs, int index, Stack LayerWeights::*member,
                              LayerWeights& layer) const {
  return fill(tensors_, tensors_.stored_as(specs), index, layer.*member, member);
}

Status LayerLoader::load_part(Specs specs, int index, kernel::PackedMatrix LayerWeights::*member,
                              LayerWeights& layer) const {
  return fill(tensors_, specs, index, layer.*member, member);
}

Status LayerLoader::load_part(Specs specs, int, LatentUp LayerWeights::*member,
                              LayerWeights& layer) const {
  PANDO_CHECK(specs.size() == 1);
  const LatentConfig& l = config_.latent;
  LatentUp& up = layer.*member;
  const std::vector<WeightSpec> stored = tensors_.stored_as(specs);
  const RowRange own = part_of(config_.n_heads, share_.rank, share_.n_ranks);
  if (stored.size() == 2) {  // keys are turned already
    Status status = tensors_.heads(stored[0], {own, l.rank, 0, l.rank}, up.keys);
    return status ? tensors_.heads(stored[1], {own, l.value_dim, 0, l.value_dim}, up.values)
                  : status;
  }
  Status status = tensors_.turned_heads(stored[0], {own, l.up_dim(), 0, l.still_dim}, up.keys);
  return status ? tensors_.heads(stored[0], {own, l.up_dim(), l.still_dim, l.value_dim}, up.values)
                : status;
}

// Experts are multiplied together, which takes one packing of rows for all of them. So if some
// experts of a quantised checkpoint cannot be kept as stored, none is.
template <class Part>
Status LayerLoader::load_part(Specs specs, int index, Part ExpertWeights::*member,
                              LayerWeights& layer) const {
  const std::vector<WeightSpec> stored = tensors_.stored_as(specs);
  layer.experts.resize(config_.experts.n_experts);
  std::vector<WeightSpec> own;
  std::string unlike;  // the tensor of an expert that differs from the first one
  for (const TensorLoader& tensors : {tensors_, tensors_.widening()}) {
    unlike.clear();
    for (int expert = 0; expert < config_.experts.n_experts && unlike.empty(); ++expert) {
      own.clear();
      for (const WeightSpec& spec : stored)
        if (spec.expert < 0)
          own.push_back(spec.of_expert(expert));
        else if (spec.expert == expert)
          own.push_back(spec);
      Part& out = layer.experts[expert].*member;
      out = Part();
      if (Status status = fill(tensors, own, index, out, member); !status) return status;
      if (!alike(layer.experts[0].*member, out)) unlike = own[0].name;
    }
    if (unlike.empty()) return {};
  }
  return unsupported(
      "{}: tensor '{}' has another type than the same matrix of the layer's first expert, expected "
      "one type in all experts (hint: set {} to a type such as q8_0)",
      tensors_.file(), unlike, OptionName{"weights"});
}

Status LayerLoader::fill(const TensorLoader& tensors, Specs specs, int index,
                         std::vector<float>& out, const LayerPart& part) const {
  std::vector<float> all;
  if (Status status = tensors.append(specs, all); !status) return status;
  out.clear();
  for (const auto& [begin, end] :
       rows_of_share(config_, index, part, static_cast<int>(all.size()), share_))
    out.insert(out.end(), all.begin() + begin, all.begin() + end);
  return {};
}

Status LayerLoader::fill(const TensorLoader& tensors, Specs specs, int index, Stack& out,
                         const LayerPart& part) const {
  return tensors.stack(specs, ranges_of(specs, index, part), out);
}

Status LayerLoader::fill(const TensorLoader& tensors, Specs specs, int index,
                         kernel::PackedMatrix& out, const LayerPart& part) const {
  PANDO_CHECK(specs.size() == 1);
  Stack one;
  if (Status status = tensors.stack(specs, ranges_of(specs, index, part), one); !status)
    return status;
  out = std::move(one[0]);
  return {};
}

std::vector<RowRange> LayerLoader::ranges_of(Specs specs, int index, const LayerPart& part) const {
  int64_t n = 0;
  for (const WeightSpec& spec : specs) n += spec.shape[0];
  return rows_of_share(config_, index, part, static_cast<int>(n), share_);
}

}  // namespace pando::model
