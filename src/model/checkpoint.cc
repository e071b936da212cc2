#include "model/checkpoint.h"

#include <algorithm>

#include "base/errors.h"
#include "base/is_there.h"
#include "base/json.h"
#include "base/numbers/weight_types.h"

namespace pando::model {
namespace {

namespace fs = std::filesystem;
using json = Json;

constexpr const char* kSingleName = "model.safetensors";
constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr std::string_view kPrefix = "model.";
constexpr std::string_view kWeight = "weight";
// Tables of embeddings, behind the prefix. The second is of Nemotron-H, the third of GPT-NeoX, the
// others are of encoders.
constexpr std::string_view kEmbeddings[] = {"embed_tokens.weight", "embeddings.weight",
                                            "embed_in.weight", "embeddings.word_embeddings.weight",
                                            "embeddings.tok_embeddings.weight"};
// Prefixes of tensor names in files, each with the usual prefix. "backbone." is of Nemotron-H,
// "gpt_neox." and "embed_out." are of GPT-NeoX; the others are of models that read more than text.
constexpr std::pair<std::string_view, std::string_view> kLanguagePrefixes[] = {
    {"backbone.", kPrefix},
    {"gpt_neox.", kPrefix},
    {"embed_out.", "lm_head."},
    {"model.language_model.", kPrefix},
    {"language_model.model.", kPrefix},
    {"model.text_model.", kPrefix},
    {"language_model.lm_head.", "lm_head."},
    // Encoders have these before the names of their layers.
    {"bert.", kPrefix},
    {"roberta.", kPrefix},
    {"distilbert.", kPrefix},
    {"nomic_bert.", kPrefix},
    {"model.encoder.layers.", "model.layers."},
    {"model.encoder.layer.", "model.layers."},
    {"model.transformer.layer.", "model.layers."}};
// Last parts of names in files that were converted from TensorFlow's.
constexpr std::pair<std::string_view, std::string_view> kOlderParts[] = {
    {".LayerNorm.gamma", ".LayerNorm.weight"}, {".LayerNorm.beta", ".LayerNorm.bias"}};

Result<json> read_index(const ModelPath& path) {
  const auto file = path.file();
  if (!file) return file.error();
  Result<json> index = parse_json_object((*file)->text(), path.string());
  if (!index) return index;
  const auto map = index->find("weight_map");
  if (map == index->end() || !map->is_object())
    return in_file(
        path.string(),
        bad_file("'weight_map' is {}, expected an object that maps tensor names to file names",
                 map == index->end() ? "absent" : found_text(*map)));
  return json(*map);
}

// True if the last part of a tensor's name says that it quantises keys and values.
bool is_of_keys_and_values(std::string_view part) {
  constexpr std::string_view kParts[] = {"q_scale", "k_scale", "v_scale", "k_zero_point",
                                         "v_zero_point"};
  return std::ranges::find(kParts, part) != std::end(kParts);
}

// "M" and "blocks" of "M_blocks", the same of "M_scales"; nothing of other names.
std::pair<std::string_view, std::string_view> split_blocks(std::string_view name) {
  for (const std::string_view part : {"blocks", "scales"})
    if (name.size() > part.size() && name.ends_with(part) &&
        name[name.size() - part.size() - 1] == '_')
      return {name.substr(0, name.size() - part.size() - 1), part};
  return {};
}

// Error for a directory without readable weights.
Error no_weights(const fs::path& directory) {
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json"})
    if (is_there(directory / name))
      return in_file(
          (directory / name).string(),
          unsupported("is in PyTorch's own format, expected {} or {}", kSingleName, kIndexName));
  return in_file(directory.string(),
                 not_found("has no weights, expected {} or {}", kSingleName, kIndexName));
}

}  // namespace

bool is_gguf(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) ||
         (path.extension() == ".gguf" && !fs::is_directory(path, ignored));
}

Result<Checkpoint> Checkpoint::open(const ModelPath& directory,
                                    const std::optional<Quantization>& quantization) {
  Checkpoint checkpoint;
  checkpoint.quantization_ = quantization;
  if (is_gguf(directory.path())) {
    Result<GgufTensors> gguf = GgufTensors::open(directory);
    if (!gguf) return std::move(gguf).error();
    checkpoint.index_path_ = directory.path();
    checkpoint.gguf_ = std::move(*gguf);
    return checkpoint;
  }
  std::error_code failure;
  const fs::file_status status = fs::status(directory.path(), failure);
  if (status.type() == fs::file_type::none || status.type() == fs::file_type::unknown)
    return in_file(directory.string(), io_error("cannot be read: {}", failure.message()));
  if (!fs::is_directory(status)) return in_file(directory.string(), not_found("no such directory"));
  checkpoint.index_path_ = directory.path() / kSingleName;
  if (is_there(checkpoint.index_path_)) {
    Result<Safetensors> file = Safetensors::open(directory / kSingleName);
    if (!file) return std::move(file).error();
    for (const auto& [name, entry] : file->tensors())
      checkpoint.place_of_.emplace(name, Place{0, name});
    checkpoint.shards_.push_back(std::move(file).value());
    checkpoint.use_common_names();
    checkpoint.join_quantized();
    return checkpoint;
  }
  checkpoint.index_path_ = directory.path() / kIndexName;
  if (!is_there(checkpoint.index_path_)) return no_weights(directory.path());
  if (Status status = checkpoint.open_shards(directory); !status) return status.error();
  checkpoint.use_common_names();
  checkpoint.join_quantized();
  return checkpoint;
}

// Renames what goes by another prefix. A name is a file's own where both would be the same.
void Checkpoint::use_common_names() {
  const auto has_any = [&](std::string_view prefix) {
    return std::ranges::any_of(kEmbeddings, [&](std::string_view name) {
      return contains(std::string(prefix).append(name));
    });
  };
  bare_ = has_any("") && !has_any(kPrefix);
  std::map<std::string, Place, std::less<>> named;
  for (const auto& [name, place] : place_of_) {
    std::string common = name;
    if (bare_ && name != "lm_head.weight") common.insert(0, kPrefix);
    for (const auto& [found, usual] : kLanguagePrefixes)
      if (common.starts_with(found)) common = std::string(usual) + common.substr(found.size());
    for (const auto& [older, usual] : kOlderParts)
      if (common.ends_with(older))
        common.replace(common.size() - older.size(), older.size(), usual);
    const bool taken = common != name && place_of_.contains(common);
    // If two names become equal, the second keeps its own, and is refused later as unknown.
    if (taken || !named.emplace(std::move(common), place).second) named.emplace(name, place);
  }
  place_of_ = std::move(named);
}

// Joins the tensors of each quantised matrix. Tensors beside no such matrix keep their names.
void Checkpoint::join_quantized() {
  if (!quantization_) return;
  const auto in_blocks = [](const WeightScheme& scheme) {
    return scheme.layout == QuantizedLayout::kBlocks;
  };
  if (std::ranges::any_of(quantization_->schemes, in_blocks)) join_blocks();
  const auto split = [](std::string_view name) {
    const size_t dot = name.rfind('.');
    return dot == name.npos ? std::pair(std::string_view(), name)
                            : std::pair(name.substr(0, dot), name.substr(dot + 1));
  };
  std::map<std::string, Place, std::less<>> joined;
  for (const auto& [name, place] : place_of_) {
    const auto [module, part] = split(name);
    const StoredTensor tensor = stored_tensor(name, place);
    const std::string matrix = fmt::format("{}.{}", module, kWeight);
    if (!has_quantized_weights(part, tensor.entry->dtype) ||
        (name != matrix && place_of_.contains(matrix)))
      continue;
    quantized_[matrix].emplace(part, tensor);
    joined.emplace(matrix, place);
  }
  for (const auto& [name, place] : place_of_) {
    const auto [module, part] = split(name);
    const auto matrix = quantized_.find(fmt::format("{}.{}", module, kWeight));
    if (matrix != quantized_.end() && matrix->second.contains(part)) continue;  // the integers
    if (matrix != quantized_.end() && belongs_to_quantized_weights(part))
      matrix->second.emplace(part, stored_tensor(name, place));
    else if (!quantization_->has_keys_and_values || !is_of_keys_and_values(part))
      joined.emplace(name, place);
  }
  place_of_ = std::move(joined);
}

// Does the same for the tensors M_blocks and M_scales of all experts, which are M.
void Checkpoint::join_blocks() {
  std::map<std::string, Place, std::less<>> joined;
  for (const auto& [name, place] : place_of_) {
    const auto [matrix, part] = split_blocks(name);
    if (part.empty() || !place_of_.contains(fmt::format("{}_blocks", matrix))) {
      joined.emplace(name, place);
      continue;
    }
    quantized_[std::string(matrix)].emplace(part, stored_tensor(name, place));
    joined.emplace(matrix, place);
  }
  place_of_ = std::move(joined);
}

Status Checkpoint::open_shards(const ModelPath& directory) {
  const Result<json> weight_map = read_index(directory / kIndexName);
  if (!weight_map) return weight_map.error();
  std::map<std::string, size_t> shard_ids;  // by file name
  for (const auto& [name, value] : weight_map->items()) {
    const std::string file_name = value.is_string() ? value.get<std::string>() : "";
    // Only files of the same directory: an index must not lead elsewhere.
    if (file_name.empty() || fs::path(file_name).filename() != file_name || file_name == "..")
      return in_file(
          index_path_.string(),
          of_tensor(name,
                    bad_file("is in {}, expected the name of a file in the same directory as the "
                             "index",
                             found_text(value))));
    const auto [shard, is_new] = shard_ids.emplace(file_name, shards_.size());
    if (is_new)
      if (Status status = open_shard(directory / file_name); !status) return status;
    const Safetensors& file = shards_[shard->second];
    if (!file.tensors().contains(name))
      return in_file(file.path().string(),
                     bad_file("has no tensor '{}', although {} says that it is there", name,
                              index_path_.string()));
    place_of_.emplace(name, Place{shard->second, name});
  }
  return add_unlisted(*weight_map);
}

Status Checkpoint::open_shard(const ModelPath& path) {
  Result<Safetensors> file = Safetensors::open(path);
  if (!file) return in_file(index_path_.string(), file.error());
  shards_.push_back(std::move(file).value());
  return {};
}

// An index may name only some of the tensors in its files.
Status Checkpoint::add_unlisted(const json& weight_map) {
  for (size_t shard = 0; shard < shards_.size(); ++shard)
    for (const auto& [name, entry] : shards_[shard].tensors()) {
      const auto [known, is_new] = place_of_.emplace(name, Place{shard, name});
      if (!is_new && known->second.shard != shard && !weight_map.contains(name))
        return in_file(
            shards_[shard].path().string(),
            of_tensor(name, bad_file("is also in {}, expected it in only one file, or listed in {}",
                                     shards_[known->second.shard].path().string(),
                                     index_path_.string())));
    }
  return {};
}

std::vector<std::string> Checkpoint::names() const {
  if (gguf_) return gguf_->names();
  std::vector<std::string> names;
  for (const auto& [name, place] : place_of_) names.push_back(name);
  return names;
}

Result<TensorView> Checkpoint::tensor(std::string_view name,
                                      std::span<const int64_t> expected_shape) const {
  if (!contains(name))
    return in_tensor({index_path_.string(), std::string(name)},
                     bad_file("is absent, expected one of shape {}", shape_text(expected_shape)));
  if (quantized_.contains(name))
    return in_file(file_of(name).string(),
                   of_tensor(name, unsupported("is quantised, expected {}",
                                               one_of_these(safetensors_type_names()))));
  Result<TensorView> view = gguf_ ? gguf_->tensor(name) : safetensors_tensor(name);
  if (view && !std::ranges::equal(view->shape, expected_shape))
    return in_tensor(
        {file_of(name).string(), std::string(name)},
        bad_file("has shape {}, expected {}", shape_text(view->shape), shape_text(expected_shape)));
  return view;
}

// A file without any tensor of an expert has none of the first one. It may claim any number of
// them.
bool Checkpoint::has_expert_parts(const WeightSpec& spec) const {
  const std::string& pattern = spec.expert_parts[0].name;
  const std::string_view root = std::string_view(pattern).substr(0, pattern.find('{'));
  const auto first = place_of_.lower_bound(root);
  return first != place_of_.end() && first->first.starts_with(root);
}

std::vector<WeightSpec> Checkpoint::stored_as(const WeightSpec& spec) const {
  if (contains(spec.name)) return {spec};
  if (gguf_) return gguf_tensors_of(spec);
  if (!spec.parts.empty()) return parts_of(spec);
  if (spec.expert_parts.empty()) return {spec};
  return has_expert_parts(spec) ? checkpoint_tensors_of(spec) : checkpoint_tensors_of(spec, 0);
}

std::vector<WeightSpec> Checkpoint::stored_as(const WeightSpec& spec, int expert) const {
  if (!gguf_ && !contains(spec.name) && spec.parts.empty() && !spec.expert_parts.empty())
    return checkpoint_tensors_of(spec, has_expert_parts(spec) ? expert : 0);
  std::vector<WeightSpec> slices;
  for (const WeightSpec& stored : stored_as(spec)) slices.push_back(stored.of_expert(expert));
  return slices;
}

// Each has the rows that the file gives it, where these are all rows.
std::vector<WeightSpec> Checkpoint::parts_of(const WeightSpec& spec) const {
  std::vector<WeightSpec> parts = checkpoint_tensors_of(spec);
  std::vector<int64_t> n_rows;
  int64_t n_left = spec.shape[0];
  for (const WeightSpec& part : parts) {
    const auto place = place_of_.find(part.name);
    if (place == place_of_.end()) return parts;
    const std::vector<int64_t>& stored =
        shards_[place->second.shard].tensors().find(place->second.name)->second.shape;
    n_rows.push_back(stored.empty() ? 0 : stored[0]);
    if (n_rows.back() < 1 || n_rows.back() > n_left) return parts;
    n_left -= n_rows.back();
  }
  if (n_left != 0) return parts;
  for (size_t i = 0; i < parts.size(); ++i) parts[i].shape[0] = n_rows[i];
  return parts;
}

// A slice of a tensor of all experts.
Result<TensorView> Checkpoint::slice(const WeightSpec& spec) const {
  const bool is_matrix = spec.shape.size() == 2;
  if (is_matrix && quantized_.contains(spec.name)) return quantized_tensor(spec);
  WeightSpec whole = spec;
  whole.shape.insert(whole.shape.begin(), spec.n_stacked);
  whole.n_stacked = 0;
  // Some files hold these matrices transposed. Only the shape says so.
  if (const auto place = place_of_.find(spec.name);
      is_matrix && !gguf_ && !whole.transposed && place != place_of_.end()) {
    const std::vector<int64_t>& stored =
        shards_[place->second.shard].tensors().find(place->second.name)->second.shape;
    WeightSpec turned = whole;
    turned.transposed = true;
    whole.transposed = stored != whole.shape && stored == turned.checkpoint_shape();
  }
  Result<TensorView> view = tensor(whole);
  if (!view) return view;
  view->shape = spec.shape;
  view->n_bytes /= static_cast<size_t>(spec.n_stacked);
  view->data += view->n_bytes * static_cast<size_t>(spec.expert);
  return view;
}

Result<TensorView> Checkpoint::tensor(const WeightSpec& spec) const {
  if (spec.n_stacked > 0) return slice(spec);
  if (spec.shape.size() == 2 && quantized_.contains(spec.name)) return quantized_tensor(spec);
  std::vector<int64_t> shape = gguf_ ? spec.shape : spec.checkpoint_shape();
  if (gguf_ && contains(spec.name)) {
    const auto without_ones = [](std::vector<int64_t> sizes) {
      std::erase(sizes, 1);
      return sizes;
    };
    const std::vector<int64_t> found = gguf_->tensor(spec.name).shape;
    if (!spec.gguf_shape.empty()) shape = spec.gguf_shape;
    if (without_ones(found) == without_ones(shape)) shape = found;
  }
  Result<TensorView> view = tensor(spec.name, shape);
  if (!view) return view;
  view->shape = spec.shape;
  if (!gguf_) {
    view->rows = spec.rows;
    view->columns = spec.columns;
    view->transposed = spec.transposed;
    view->stored = spec.stored;
  }
  return view;
}

const fs::path& Checkpoint::file_of(std::string_view name) const {
  return gguf_ ? gguf_->file_of(name) : shards_[place_of_.find(name)->second.shard].path();
}

Result<TensorView> Checkpoint::safetensors_tensor(std::string_view name) const {
  const StoredTensor tensor = stored_tensor(name, place_of_.find(name)->second);
  TensorView view;
  const WeightTypeInfo* type = find_safetensors_type(tensor.entry->dtype);
  if (type == nullptr)
    return in_tensor(tensor.where, unsupported("has dtype {}, expected {}", tensor.entry->dtype,
                                               one_of_these(safetensors_type_names())));
  view.dtype = type->type;
  view.shape = tensor.entry->shape;
  view.data = tensor.data;
  view.n_bytes = tensor.entry->n_bytes;
  return view;
}

StoredTensor Checkpoint::stored_tensor(std::string_view name, const Place& place) const {
  const Safetensors& shard = shards_[place.shard];
  const TensorEntry& entry = shard.tensors().find(place.name)->second;
  return {{shard.path().string(), std::string(name)}, &entry, shard.file().data() + entry.offset};
}

Result<TensorView> Checkpoint::quantized_tensor(const WeightSpec& spec) const {
  const TensorPlace where{file_of(spec.name).string(), spec.name};
  Result<std::shared_ptr<const QuantizedMatrix>> matrix = QuantizedMatrix::open(
      where, quantized_.find(spec.name)->second, *quantization_, spec.shape[0], spec.shape[1],
      spec.columns, {.n_stacked = spec.n_stacked, .index = spec.expert});
  if (!matrix) return matrix.error();
  TensorView view;
  view.dtype = (*matrix)->dtype();
  view.shape = spec.shape;
  view.data = (*matrix)->weights().data;
  view.n_bytes = (*matrix)->weight_bytes();
  view.rows = spec.rows;
  view.stored = spec.stored;
  view.quantized = std::move(*matrix);
  return view;
}

bool Checkpoint::is_empty_bias(std::string_view name) const {
  constexpr std::string_view kBias = "bias";
  if (!name.ends_with(kBias)) return false;
  const std::string_view module = name.substr(0, name.size() - kBias.size());
  if (!quantized_.contains(fmt::format("{}{}", module, kWeight))) return false;
  const StoredTensor bias = stored_tensor(name, place_of_.find(name)->second);
  return std::all_of(bias.data, bias.data + bias.entry->n_bytes,
                     [](std::byte byte) { return byte == std::byte(); });
}

void Checkpoint::release(const TensorView& view, size_t first, size_t n_bytes) const {
  const auto release_in = [&](const MappedFile& file) {
    if (std::less_equal<>()(file.data(), view.data) &&
        std::less<>()(view.data, file.data() + file.size()))
      file.release(static_cast<size_t>(view.data - file.data()) + first, n_bytes);
  };
  if (gguf_) return gguf_->gguf().for_each_file(release_in);
  for (const Safetensors& shard : shards_) release_in(shard.file());
}

}  // namespace pando::model
