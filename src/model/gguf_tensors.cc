#include "model/gguf_tensors.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/errors.h"
#include "base/numbers/weight_types.h"
#include "model/gguf_config.h"
#include "model/safetensors.h"
#include "model/weight_specs.h"

namespace pando::model {
namespace {

std::optional<uint64_t> bytes_of(const GgufTensor& tensor, const WeightTypeInfo& type) {
  uint64_t blocks = static_cast<uint64_t>(tensor.shape.back() / type.block_len), bytes = 0;
  for (size_t i = 0; i + 1 < tensor.shape.size(); ++i)
    if (__builtin_mul_overflow(blocks, static_cast<uint64_t>(tensor.shape[i]), &blocks))
      return std::nullopt;
  if (__builtin_mul_overflow(blocks, type.block_bytes, &bytes)) return std::nullopt;
  return bytes;
}

// Part of the configuration: gguf_config.cc reads them.
constexpr std::string_view kRopeNames[] = {"rope_freqs.weight", "rope_factors_long.weight",
                                           "rope_factors_short.weight"};

// Checks that only padding follows the last tensor of a file, which ends at byte `end`.
Status check_end(const MappedFile& file, const GgufTensor& last, uint64_t end) {
  if (end >= file.size()) return {};
  const std::byte* behind = file.data() + end;
  const std::byte* found = std::find_if(behind, file.data() + file.size(),
                                        [](std::byte byte) { return byte != std::byte(); });
  if (found == file.data() + file.size()) return {};
  return in_file(
      file.path().string(),
      bad_file(
          "has {} bytes behind its last tensor '{}' that are not all 0, expected none or zeros",
          file.size() - end, last.name));
}

// Checks that tensors lie in the file's order, each at the next aligned byte.
Status check(const GgufFile& gguf) {
  const GgufTensor* last = nullptr;
  uint64_t place = 0;  // the next tensor begins here
  const auto check_last = [&] {
    return last == nullptr
               ? Status()
               : check_end(gguf.file_of(*last), *last, last->offset - last->place + place);
  };
  for (const GgufTensor& tensor : gguf.tensors()) {
    if (last != nullptr && last->file != tensor.file) {
      if (Status status = check_last(); !status) return status;
      last = nullptr;
      place = 0;
    }
    const TensorPlace where{gguf.file_of(tensor).path().string(), std::string(tensor.name)};
    if (tensor.place != place)
      return in_tensor(where,
                       bad_file("is at offset {}, expected {}, {}", tensor.place, place,
                                last == nullptr ? "the begin of the data"
                                                : fmt::format("behind tensor '{}'", last->name)));
    const WeightTypeInfo* type = find_gguf_type(tensor.type);
    if (type == nullptr)
      return in_tensor(where, unsupported("is {}, expected {}", gguf_type_name(tensor.type),
                                          one_of_these(gguf_type_names())));
    if (tensor.shape.back() % type->block_len != 0)
      return in_tensor(
          where, bad_file("has rows of {}, expected a multiple of {} for {}", tensor.shape.back(),
                          type->block_len, gguf_type_name(tensor.type)));
    const std::optional<uint64_t> bytes = bytes_of(tensor, *type);
    if (!bytes || *bytes > tensor.available)
      return in_tensor(
          where,
          bad_file("of shape {} needs {} bytes as {}, but only {} are left: the file is cut short",
                   shape_text(tensor.shape), bytes ? std::to_string(*bytes) : "2^64",
                   gguf_type_name(tensor.type), tensor.available));
    last = &tensor;
    place += (*bytes + tensor.alignment - 1) / tensor.alignment * tensor.alignment;
  }
  return check_last();
}

}  // namespace

Result<GgufTensors> GgufTensors::open(const ModelPath& path) {
  const auto gguf = path.gguf();
  if (!gguf) return gguf.error();
  if (Status status = check(**gguf); !status) return status.error();
  const Result<ModelConfig> config = read_gguf_config(**gguf);
  if (!config) return config.error();
  GgufTensors tensors(*gguf);
  std::unordered_map<std::string, WeightSpec> specs;  // by their names in GGUF files
  for (const WeightSpec& spec : weight_specs(*config)) {
    specs.emplace(spec.gguf_name, spec);
    for (WeightSpec& part : gguf_tensors_of(spec)) specs.emplace(part.gguf_name, std::move(part));
  }
  for (size_t i = 0; i < tensors.gguf().tensors().size(); ++i) {
    const std::string name(tensors.gguf().tensors()[i].name);
    if (std::ranges::find(kRopeNames, name) != std::end(kRopeNames)) continue;
    const auto spec = specs.find(name);
    const bool is_known = spec != specs.end();
    const std::string& known = is_known ? spec->second.name : name;
    const RowOrder rows = is_known ? spec->second.gguf_rows : RowOrder();
    if (!tensors.tensor_of_.emplace(known, Entry{i, rows}).second)
      return in_file(
          path.string(),
          of_tensor(name, bad_file("is a second tensor for '{}', expected only one", known)));
  }
  return tensors;
}

std::vector<std::string> GgufTensors::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : tensor_of_) names.push_back(name);
  return names;
}

const std::filesystem::path& GgufTensors::file_of(std::string_view name) const {
  return gguf_->file_of(gguf_->tensors()[tensor_of_.find(name)->second.index]).path();
}

TensorView GgufTensors::tensor(std::string_view name) const {
  const Entry& entry = tensor_of_.find(name)->second;
  const GgufTensor& tensor = gguf_->tensors()[entry.index];
  TensorView view;
  const WeightTypeInfo& type = *find_gguf_type(tensor.type);
  view.dtype = type.type;
  view.shape = tensor.shape;
  view.data = gguf_->file_of(tensor).data() + tensor.offset;
  view.n_bytes = *bytes_of(tensor, type);
  view.rows = entry.rows;
  return view;
}

}  // namespace pando::model
