#include "model/weights.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <span>

#include "base/check.h"
#include "base/errors.h"
#include "base/function_ref.h"
#include "kernel/blocks.h"
#include "model/gguf_classifier.h"
#include "model/tensor_rows.h"

namespace pando::model {
namespace {

class Loader {
 public:
  Loader(Weights& weights, std::optional<DType> requantised, const kernel::Kernels& kernels)
      : w_(weights), config_(weights.config), requantised_(requantised), kernels_(kernels) {}

  // index: of the share.
  Status load_layer(int index) {
    LayerWeights& layer = w_.layers[index];
    const Share& share = w_.share;
    const int in_model = layers_of_share(config_, share).first + index;
    std::vector<WeightSpec> specs = config_.family->layer_weights(config_, in_model);
    for (auto next = specs.begin(); next != specs.end();) {
      const LayerPart part = next->part;
      const auto end = std::stable_partition(
          next, specs.end(), [&](const WeightSpec& spec) { return spec.part == part; });
      const std::span<const WeightSpec> of_part(next, end);
      Status status =
          std::visit([&](auto member) { return load(of_part, in_model, member, layer); }, part);
      if (!status) return status;
      next = end;
    }
    return {};
  }

  Status load_ends() {
    if (w_.share.is_last())
      for (const WeightSpec& spec : last_norm_specs(config_))
        if (Status status = append(spec, w_.final_norm); !status) return status;
    if (Status status = load_layer_inputs(); !status) return status;
    if (!w_.share.is_first() && config_.layer_input_dim == 0) return {};
    Result<TensorView> embedding =
        w_.checkpoint.tensor("model.embed_tokens.weight", {config_.vocab, config_.d_model});
    if (!embedding) return embedding.error();
    w_.embedding = std::move(*embedding);
    if (!config_.tied_embeddings)
      if (Status status = check_table("model.embed_tokens.weight", w_.embedding); !status)
        return status;
    if (!w_.share.has_head()) return {};
    if (config_.head_bias)
      if (Status status = append(head_bias_spec(config_), w_.head_bias); !status) return status;
    return matrix(head_spec(config_), w_.head);
  }

 private:
  // Every rank has all of what its stage needs.
  Status load_layer_inputs() {
    const std::vector<WeightSpec> specs = layer_input_specs(config_);
    if (specs.empty()) return {};
    Result<TensorView> table = w_.checkpoint.tensor(specs[0].name, specs[0].shape);
    if (!table) return table.error();
    w_.layer_input_table = std::move(*table);
    if (Status status = check_table(specs[0].name, w_.layer_input_table); !status) return status;
    const auto [first, last] = layers_of_share(config_, w_.share);
    Stack one;
    const Ranges rows = {{first * config_.layer_input_dim, last * config_.layer_input_dim}};
    if (Status status = stack(std::span(specs).subspan(1, 1), rows, one); !status) return status;
    w_.layer_input_projection = std::move(one[0]);
    return append(specs[2], w_.layer_input_norm);
  }

  // Of a table that is used where it lies: nothing else looks at all of it.
  Status check_table(const std::string& name, const TensorView& table) {
    return each_row(table, {0, table.shape[0]}, [&](int64_t row, const std::byte* from) {
      return check_finite(name, table, row, from);
    });
  }

  // The tensors of one part of a layer.
  Status load(std::span<const WeightSpec>, int, std::monostate, LayerWeights&) {
    PANDO_CHECK(false);
  }
  Status load(std::span<const WeightSpec> specs, int index,
              std::vector<float> LayerWeights::*member, LayerWeights& layer) {
    return fill(specs, index, layer.*member, member);
  }
  Status load(std::span<const WeightSpec> specs, int index, Stack LayerWeights::*member,
              LayerWeights& layer) {
    return fill(stored_as(specs), index, layer.*member, member);
  }
  Status load(std::span<const WeightSpec> specs, int index,
              kernel::PackedMatrix LayerWeights::*member, LayerWeights& layer) {
    return fill(specs, index, layer.*member, member);
  }

  std::vector<WeightSpec> stored_as(std::span<const WeightSpec> specs) const {
    std::vector<WeightSpec> stored;
    for (const WeightSpec& spec : specs)
      for (WeightSpec& tensor : w_.checkpoint.stored_as(spec)) stored.push_back(std::move(tensor));
    return stored;
  }

  // The tensors of one part of all experts of a layer.
  template <class Member>
  Status load_experts(std::span<const WeightSpec> specs, int index, Member member,
                      LayerWeights& layer) {
    const std::vector<WeightSpec> stored = stored_as(specs);
    layer.experts.resize(config_.experts.n_experts);
    std::vector<WeightSpec> own;
    for (int expert = 0; expert < config_.experts.n_experts; ++expert) {
      own.clear();
      for (const WeightSpec& spec : stored)
        if (spec.expert < 0)
          own.push_back(spec.of_expert(expert));
        else if (spec.expert == expert)
          own.push_back(spec);
      if (Status status = fill(own, index, layer.experts[expert].*member, member); !status)
        return status;
      // Experts are multiplied together, which takes one packing of rows for all of them.
      if (!alike(layer.experts[0].*member, layer.experts[expert].*member))
        return unsupported(
            "{}: tensor '{}' is of another type than in the layer's first expert, expected one "
            "type for all (hint: load the weights as one type)",
            file(), own[0].name);
    }
    return {};
  }
  Status load(std::span<const WeightSpec> specs, int index,
              std::vector<float> ExpertWeights::*member, LayerWeights& layer) {
    return load_experts(specs, index, member, layer);
  }
  Status load(std::span<const WeightSpec> specs, int index, Stack ExpertWeights::*member,
              LayerWeights& layer) {
    return load_experts(specs, index, member, layer);
  }
  Status load(std::span<const WeightSpec> specs, int index,
              kernel::PackedMatrix ExpertWeights::*member, LayerWeights& layer) {
    return load_experts(specs, index, member, layer);
  }

  // What `specs` hold of this share, in `out`, which is a member of what `part` says.
  Status fill(std::span<const WeightSpec> specs, int index, std::vector<float>& out,
              const LayerPart& part) {
    std::vector<float> all;
    for (const WeightSpec& spec : specs)
      if (Status status = append(spec, all); !status) return status;
    out.clear();
    for (const auto& [begin, end] :
         rows_of_share(config_, index, part, static_cast<int>(all.size()), w_.share))
      out.insert(out.end(), all.begin() + begin, all.begin() + end);
    return {};
  }
  Status fill(std::span<const WeightSpec> specs, int index, Stack& out, const LayerPart& part) {
    return stack(specs, ranges_of(specs, index, part), out);
  }
  Status fill(std::span<const WeightSpec> specs, int index, kernel::PackedMatrix& out,
              const LayerPart& part) {
    PANDO_CHECK(specs.size() == 1);
    Stack one;
    if (Status status = stack(specs, ranges_of(specs, index, part), one); !status) return status;
    out = std::move(one[0]);
    return {};
  }
  Status load(std::span<const WeightSpec> specs, int, LatentUp LayerWeights::*member,
              LayerWeights& layer) {
    PANDO_CHECK(specs.size() == 1);
    const LatentConfig& l = config_.latent;
    LatentUp& up = layer.*member;
    const std::vector<WeightSpec> stored = w_.checkpoint.stored_as(specs[0]);
    if (stored.size() == 2) {  // keys are turned already
      Status status = heads(stored[0], {l.rank, 0, l.rank}, up.keys);
      return status ? heads(stored[1], {l.value_dim, 0, l.value_dim}, up.values) : status;
    }
    Status status = turned_heads(stored[0], {l.up_dim(), 0, l.still_dim}, up.keys);
    return status ? heads(stored[0], {l.up_dim(), l.still_dim, l.value_dim}, up.values) : status;
  }

  // Of the rows of a head, `all` of them, n from `first` on.
  struct HeadRows {
    int all, first, n;
  };
  std::pair<int, int> own_heads() const {
    return part_of(config_.n_heads, w_.share.rank, w_.share.n_ranks);
  }
  // A matrix of these rows for each head.
  Status heads(const WeightSpec& spec, const HeadRows& rows,
               std::vector<kernel::PackedMatrix>& out) {
    const Result<TensorView> view = w_.checkpoint.tensor(spec);
    if (!view) return view.error();
    const DType type = requantised_.value_or(kept_type(*view));
    if (Status status = check_inputs(spec.name, type, spec.shape[1]); !status) return status;
    const auto [begin, end] = own_heads();
    for (int head = begin; head < end; ++head) {
      const int first = head * rows.all + rows.first;
      out.emplace_back(type, rows.n, static_cast<int>(spec.shape[1]));
      if (Status status = pack(spec.name, *view, {first, first + rows.n}, out.back(), 0); !status)
        return status;
    }
    return {};
  }
  // The same, with the rows as columns. Blocks go along rows: such weights become q8_0.
  Status turned_heads(const WeightSpec& spec, const HeadRows& rows,
                      std::vector<kernel::PackedMatrix>& out) {
    const Result<TensorView> view = w_.checkpoint.tensor(spec);
    if (!view) return view.error();
    const DType kept = kept_type(*view);
    const bool is_float = kept == DType::kF32 || kept == DType::kF16 || kept == DType::kBF16;
    const DType type = requantised_.value_or(is_float ? kept : DType::kQ8_0);
    const int64_t k = spec.shape[1];
    if (Status status = check_inputs(spec.name, type, rows.n); !status) return status;
    const auto [begin, end] = own_heads();
    std::vector<float> own(k), turned(k * rows.n);
    for (int head = begin; head < end; ++head) {
      const int64_t first = int64_t{head} * rows.all + rows.first;
      const auto turn = [&](int64_t row, const std::byte* from) -> Status {
        if (Status status = check_finite(spec.name, *view, row, from); !status) return status;
        kernel::read_weights(kernels_, view->dtype, from, k, own.data());
        for (int64_t i = 0; i < k; ++i) turned[i * rows.n + row - first] = own[i];
        return {};
      };
      if (Status status = each_row(*view, {first, first + rows.n}, turn); !status) return status;
      out.emplace_back(type, static_cast<int>(k), rows.n);
      if (!out.back().set_rows(kernels_, 0, static_cast<int>(k), DType::kF32, turned.data()))
        return too_large(spec.name, type, *view);
    }
    return {};
  }

  static bool alike(const std::vector<float>&, const std::vector<float>&) { return true; }
  static bool alike(const kernel::PackedMatrix& a, const kernel::PackedMatrix& b) {
    return a.type() == b.type();
  }
  static bool alike(const Stack& a, const Stack& b) {
    return std::ranges::equal(a, b, {}, &kernel::PackedMatrix::type, &kernel::PackedMatrix::type);
  }

  using Ranges = std::vector<std::pair<int, int>>;
  // index: of the layer in the model.
  Ranges ranges_of(std::span<const WeightSpec> specs, int index, const LayerPart& part) const {
    int64_t n = 0;
    for (const WeightSpec& spec : specs) n += spec.shape[0];
    return rows_of_share(config_, index, part, static_cast<int>(n), w_.share);
  }
  // Of rows [begin, end), those in the ranges, counted from `begin`.
  static Ranges within(const Ranges& ranges, int64_t begin, int64_t end) {
    Ranges own;
    for (const auto& [first, last] : ranges)
      if (const int64_t from = std::max<int64_t>(first, begin), to = std::min<int64_t>(last, end);
          from < to)
        own.emplace_back(static_cast<int>(from - begin), static_cast<int>(to - begin));
    return own;
  }
  static int n_rows(const Ranges& ranges) {
    int n = 0;
    for (const auto& [begin, end] : ranges) n += end - begin;
    return n;
  }

  // Adds the elements of a vector, or of a convolution with the taps outside, to the end of `out`.
  Status append(const WeightSpec& spec, std::vector<float>& out) {
    const Result<TensorView> view = w_.checkpoint.tensor(spec);
    if (!view) return view.error();
    if (kernel::block_len(view->dtype) != 1)
      return unsupported("{}: tensor '{}' is a vector of {}, expected one of f32, f16 or bf16",
                         file(), spec.name, dtype_name(view->dtype));
    const int64_t n = spec.n_elements(), n_taps = n / spec.shape[0];
    std::vector<float> stored(n);
    kernel::read_weights(kernels_, view->dtype, view->data, n, stored.data());
    for (int64_t tap = 0; tap < n_taps; ++tap)
      for (int64_t i = 0; i < spec.shape[0]; ++i) {
        const int64_t at = view->rows.stored(i) * n_taps + tap;
        out.push_back(value_of(view->stored, stored[at]));
        if (!std::isfinite(stored[at]) || !std::isfinite(out.back()))
          return not_finite(spec.name, "element", at);
      }
    return {};
  }

  static float value_of(Stored stored, float x) {
    switch (stored) {
      case Stored::kItself:
        break;
      case Stored::kOneLess:
        return 1.0f + x;
      case Stored::kLogDecay:
        return static_cast<float>(-std::exp(static_cast<double>(x)));
    }
    return x;
  }

  static DType kept_type(const TensorView& view) {
    return view.quantized ? view.quantized->kept() : kernel::info_of(view.dtype).packed;
  }

  // A router's small differences decide which experts a row has.
  DType packed_type(const WeightSpec& spec, const TensorView& view) const {
    if (spec.part == LayerPart(&LayerWeights::router)) return DType::kF32;
    return requantised_.value_or(kept_type(view));
  }

  // The rows in `ranges` of the matrices, of one width, one above the other.
  Status check_inputs(const std::string& name, DType type, int64_t k) const {
    if (k <= kernel::PackedMatrix::max_inputs(type)) return {};
    return unsupported("{}: tensor '{}' has rows of {}, expected at most {} for {} weights", file(),
                       name, k, kernel::PackedMatrix::max_inputs(type), dtype_name(type));
  }

  Status stack(std::span<const WeightSpec> specs, const Ranges& ranges, Stack& out) {
    const int64_t k = specs[0].shape[1];
    int64_t n_above = 0;
    for (size_t i = 0; i < specs.size();) {
      std::vector<TensorView> views;  // of one type
      std::vector<Ranges> own;        // of each
      DType type = DType::kF32;
      int n = 0;
      for (size_t next = i; next < specs.size(); ++next) {
        Result<TensorView> view = w_.checkpoint.tensor(specs[next]);
        if (!view) return view.error();
        const DType packed = packed_type(specs[next], *view);
        if (views.empty()) type = packed;
        if (packed != type) break;
        views.push_back(std::move(*view));
        own.push_back(within(ranges, n_above, n_above + specs[next].shape[0]));
        n_above += specs[next].shape[0];
        n += n_rows(own.back());
      }
      if (n == 0) {
        i += views.size();
        continue;
      }
      if (Status status = check_inputs(specs[i].name, type, k); !status) return status;
      out.emplace_back(type, n, static_cast<int>(k));
      int row = 0;
      for (size_t j = 0; j < views.size(); ++j, ++i)
        for (const std::pair<int, int>& range : own[j]) {
          if (Status status = pack(specs[i].name, views[j], range, out.back(), row); !status)
            return status;
          row += range.second - range.first;
        }
    }
    return {};
  }

  Status matrix(const WeightSpec& spec, kernel::PackedMatrix& out) {
    Stack one;
    const Ranges all = {{0, static_cast<int>(spec.shape[0])}};
    if (Status status = stack(std::span(&spec, 1), all, one); !status) return status;
    out = std::move(one[0]);
    return {};
  }

  std::string file() const { return w_.checkpoint.path().string(); }

  // Rows `range` of `view` to those of `out` from first_row on.
  Status pack(const std::string& name, const TensorView& view, const std::pair<int, int>& range,
              kernel::PackedMatrix& out, int first_row) {
    const std::vector<size_t> columns = columns_of(view);
    std::vector<std::byte> ordered;
    return each_row(view, range, [&](int64_t row, const std::byte* from) -> Status {
      if (Status status = check_finite(name, view, row, from); !status) return status;
      if (!columns.empty()) from = in_order(columns, dtype_size(view.dtype), from, ordered);
      if (out.set_rows(kernels_, first_row + static_cast<int>(row) - range.first, 1, view.dtype,
                       from))
        return {};
      return too_large(name, out.type(), view);
    });
  }

  Error too_large(const std::string& name, DType type, const TensorView& view) const {
    return unsupported(
        "{}: tensor '{}' has weights that are too large for {} (hint: load the weights as {})",
        file(), name, dtype_name(type), view.quantized ? "f32" : "stored");
  }

  // The elements of a row in the order of the tensor's columns, in `out`.
  // Where each column of a row lies in the file; empty where they lie in order.
  static std::vector<size_t> columns_of(const TensorView& view) {
    std::vector<size_t> columns;
    for (int64_t i = 0; !view.columns.keeps() && i < view.shape[1]; ++i)
      columns.push_back(static_cast<size_t>(view.columns.stored(i)));
    return columns;
  }
  // size: bytes of an element.
  static const std::byte* in_order(const std::vector<size_t>& columns, size_t size,
                                   const std::byte* from, std::vector<std::byte>& out) {
    out.resize(columns.size() * size);
    for (size_t i = 0; i < columns.size(); ++i)
      std::memcpy(&out[i * size], from + columns[i] * size, size);
    return out.data();
  }

  // Calls `read` with each row of the range and where it lies. What was read is given back as it
  // goes: the packed copy is the one in use, and a table of embeddings may be a quarter of the
  // file.
  Status each_row(const TensorView& view, const std::pair<int64_t, int64_t>& range,
                  FunctionRef<Status(int64_t, const std::byte*)> read) {
    const int64_t n = range.second;
    TensorRows rows(view);
    const size_t row_bytes = rows.row_bytes();
    const int64_t rows_each = std::max<int64_t>(1, kReleaseBytes / static_cast<int64_t>(row_bytes));
    for (int64_t row = range.first; row < n;) {
      const int64_t begin = row;
      for (; row < std::min(n, begin + rows_each); ++row)
        if (Status status = read(row, rows[row]); !status) return status;
      // A pair of halves of a head may lie beyond: then it is read again, which changes nothing.
      if (view.quantized || view.transposed)  // all of it: a file may have rows side by side
        w_.checkpoint.release(view, 0, view.n_bytes);
      else
        w_.checkpoint.release(view, begin * row_bytes, (row - begin) * row_bytes);
    }
    return {};
  }

  Status check_finite(const std::string& name, const TensorView& view, int64_t row,
                      const std::byte* from) const {
    if (kernel::all_finite(view.dtype, from, view.shape[1])) return {};
    return not_finite(name, "row", row);
  }

  Error not_finite(const std::string& name, const char* unit, int64_t index) const {
    return bad_file("{}: tensor '{}' holds NaN or infinity in {} {}, expected finite numbers",
                    file(), name, unit, index);
  }

  static constexpr int64_t kReleaseBytes = int64_t{4} << 20;

  Weights& w_;
  const ModelConfig& config_;
  std::optional<DType> requantised_;
  const kernel::Kernels& kernels_;
};

// "3" and "mlp.up_proj.weight" of a tensor of layer 3; -1 and nothing of others.
std::pair<int, std::string_view> layer_and_part(std::string_view name) {
  for (const std::string_view before : {"model.layers.", "blk."}) {
    if (!name.starts_with(before)) continue;
    int layer = -1;
    const char* const end = name.data() + name.size();
    const auto [at, error] = std::from_chars(name.data() + before.size(), end, layer);
    if (error == std::errc() && at != end && *at == '.')
      return {layer, name.substr(static_cast<size_t>(at + 1 - name.data()))};
  }
  return {-1, {}};
}

// "layers 3, 7, 11, ..."
std::string attention_layers(const ModelConfig& config) {
  constexpr size_t kMost = 3;
  std::vector<std::string> found;
  for (int layer = 0; layer < config.n_layers() && found.size() <= kMost; ++layer)
    if (config.layers[layer].mixer == Mixer::kAttention)
      found.push_back(found.size() < kMost ? std::to_string(layer) : "...");
  return fmt::format("layer{} {}", found.size() == 1 ? "" : "s", fmt::join(found, ", "));
}

// Whether a layer of another kind would have such a tensor: what the configuration says of kinds
// may be wrong, or absent.
bool is_of_other_kind(const ModelConfig& config, std::string_view name) {
  const auto [own, part] = layer_and_part(name);
  if (own < 0 || own >= config.n_layers()) return false;
  for (int layer = 0; layer < config.n_layers(); ++layer) {
    if (config.layers[layer].mixer == config.layers[own].mixer) continue;
    for (const WeightSpec& spec : config.family->layer_weights(config, layer))
      if (layer_and_part(spec.name).second == part || layer_and_part(spec.gguf_name).second == part)
        return true;
  }
  return false;
}

// A tensor that nobody reads would silently be another model: each must be one of the
// configuration's, be known to say nothing new, or belong to a part that answers no text. Returns
// the names of those parts.
Result<std::vector<std::string>> passed_over_parts(const ModelConfig& config,
                                                   const Checkpoint& checkpoint) {
  std::set<std::string> known;
  for (const WeightSpec& spec : weight_specs(config))
    for (WeightSpec& stored : checkpoint.stored_as(spec))
      if (checkpoint.contains(stored.name)) known.insert(std::move(stored.name));
  known.insert("lm_head.weight");  // where embeddings are tied: a copy of them
  std::map<std::string, int> parts;
  for (const std::string& name : checkpoint.names()) {
    if (known.contains(name) || name.ends_with(".rotary_emb.inv_freq") ||
        checkpoint.is_empty_bias(name))
      continue;
    const auto passed_over = config.family->passed_over;
    const std::string_view part = passed_over == nullptr ? "" : passed_over(config, name);
    if (name == kClassifier && checkpoint.is_one_gguf()) {
      if (Status status = check_classifier(checkpoint, config); !status) return status.error();
      ++parts["copy of rows of the LM head"];
      continue;
    }
    if (part.empty() && is_of_other_kind(config, name)) {
      const LayerConfig& layer = config.layers[layer_and_part(name).first];
      const bool has_attention = layer.mixer == Mixer::kAttention;
      return unsupported(
          "{}: tensor '{}' belongs to a layer {} attention, expected one {}: the configuration "
          "gives attention to {} (hint: 'layer_types' in config.json names the kind of each layer)",
          checkpoint.path().string(), name, has_attention ? "without" : "with",
          has_attention ? "with it" : "without", attention_layers(config));
    }
    if (part.empty())
      return unsupported("{}: tensor '{}' is unknown, expected those of {} with this configuration",
                         checkpoint.path().string(), name, config.family->name);
    ++parts[std::string(part)];
  }
  std::vector<std::string> names;
  for (const auto& [part, n] : parts)
    names.push_back(fmt::format("{} ({} tensor{})", part, n, n == 1 ? "" : "s"));
  return names;
}

// An error about a tensor, by the name that a GGUF file has for it.
Error in_file_names(const Weights& weights, Error error) {
  if (!weights.checkpoint.is_one_gguf()) return error;
  for (const WeightSpec& spec : weight_specs(weights.config))
    for (const WeightSpec& stored : weights.checkpoint.stored_as(spec)) {
      const std::string named = fmt::format("tensor '{}'", stored.name);
      if (const size_t at = error.message.find(named); at != std::string::npos)
        error.message.replace(at, named.size(), fmt::format("tensor '{}'", stored.gguf_name));
    }
  return error;
}

}  // namespace

Result<Weights> Weights::open(const std::filesystem::path& directory) {
  Result<ModelConfig> config = ModelConfig::load(directory);
  if (!config) return config.error();
  Result<Checkpoint> checkpoint = Checkpoint::open(directory, config->quantization);
  if (!checkpoint) return checkpoint.error();
  // As embedding models are saved.
  const bool has_no_head =
      checkpoint->is_bare() && !config->tied_embeddings && !checkpoint->contains("lm_head.weight");
  if (has_no_head) config->tied_embeddings = true;
  Result<std::vector<std::string>> passed_over = passed_over_parts(*config, *checkpoint);
  if (!passed_over) return passed_over.error();

  return Weights{.config = std::move(*config),
                 .checkpoint = std::move(*checkpoint),
                 .embedding = {},
                 .layers = {},
                 .final_norm = {},
                 .head = {},
                 .head_bias = {},
                 .has_no_head = has_no_head,
                 .passed_over = std::move(*passed_over)};
}

Result<Weights> Weights::load(const std::filesystem::path& directory,
                              std::optional<DType> requantised, const kernel::Kernels& kernels,
                              ThreadPool& pool, const Share& share) {
  Result<Weights> opened = open(directory);
  if (!opened) return opened.error();
  Weights weights = std::move(*opened);
  if (Status status = check_share(weights.config, share); !status) return status.error();
  weights.share = share;
  weights.layers.resize(config_of_share(weights.config, share).layers.size());
  Loader loader(weights, requantised, kernels);
  std::vector<Status> statuses(weights.layers.size() + 1);
  pool.parallel_for(static_cast<int64_t>(statuses.size()), [&](int64_t item, int) {
    statuses[item] = item == 0 ? loader.load_ends() : loader.load_layer(static_cast<int>(item - 1));
  });
  for (const Status& status : statuses)
    if (!status) return in_file_names(weights, status.error());
  return weights;
}

size_t Weights::bytes() const {
  size_t sum = head.bytes() + layer_input_projection.bytes();
  for (const LayerWeights& layer : layers)
    for (const Stack* stack : {&layer.qkv, &layer.gate_up})
      for (const kernel::PackedMatrix& matrix : *stack) sum += matrix.bytes();
  for (const LayerWeights& layer : layers) {
    sum += layer.o.bytes() + layer.q_up.bytes() + layer.down.bytes() + layer.router.bytes() +
           layer.input_gate.bytes() + layer.input_projection.bytes();
    for (const auto* heads : {&layer.latent_up.keys, &layer.latent_up.values})
      for (const kernel::PackedMatrix& matrix : *heads) sum += matrix.bytes();
    for (const ExpertWeights& expert : layer.experts) {
      sum += expert.down.bytes();
      for (const kernel::PackedMatrix& matrix : expert.gate_up) sum += matrix.bytes();
    }
  }
  return sum;
}

}  // namespace pando::model
