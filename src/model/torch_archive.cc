#include "model/torch_archive.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

#include "base/dtype.h"
#include "base/errors.h"
#include "base/mapped_file.h"
#include "base/numbers/blocks.h"

namespace pando::model {
namespace {

constexpr std::string_view kEndMark = "PK\5\6", kEntryMark = "PK\1\2", kLocalMark = "PK\3\4";
constexpr size_t kEndSize = 22, kEntrySize = 46, kLocalSize = 30;

template <class Value>
Value number_at(std::string_view bytes, size_t at) {
  Value value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

// The contents of all entries by the part of their names behind the first folder; nothing if the
// archive has another form.
std::optional<std::map<std::string_view, std::string_view>> read_entries(std::string_view file) {
  const size_t end = file.rfind(kEndMark);
  if (end == file.npos || end + kEndSize > file.size()) return std::nullopt;
  const auto n = number_at<uint16_t>(file, end + 10);
  size_t at = number_at<uint32_t>(file, end + 16);
  std::map<std::string_view, std::string_view> entries;
  for (int i = 0; i < n; ++i) {
    if (at > file.size() || file.size() - at < kEntrySize ||
        !file.substr(at).starts_with(kEntryMark))
      return std::nullopt;
    const size_t size = number_at<uint32_t>(file, at + 24);
    const size_t name_size = number_at<uint16_t>(file, at + 28);
    const size_t rest =
        size_t{number_at<uint16_t>(file, at + 30)} + number_at<uint16_t>(file, at + 32);
    const size_t local = number_at<uint32_t>(file, at + 42);
    const bool is_stored = number_at<uint16_t>(file, at + 10) == 0;
    if (!is_stored || file.size() - at - kEntrySize < name_size || local > file.size() ||
        file.size() - local < kLocalSize || !file.substr(local).starts_with(kLocalMark))
      return std::nullopt;
    const std::string_view name = file.substr(at + kEntrySize, name_size);
    const size_t data = local + kLocalSize + number_at<uint16_t>(file, local + 26) +
                        number_at<uint16_t>(file, local + 28);
    if (data > file.size() || file.size() - data < size) return std::nullopt;
    entries[name.substr(name.find('/') + 1)] = file.substr(data, size);
    at += kEntrySize + name_size + rest;
  }
  return entries;
}

// The type of all storages, by the classes that the pickle names.
std::optional<DType> type_of(std::string_view pickle) {
  std::optional<DType> found;
  for (const auto& [name, type] : {std::pair{"BFloat16Storage", DType::kBF16},
                                   {"HalfStorage", DType::kF16},
                                   {"FloatStorage", DType::kF32}}) {
    if (pickle.find(name) == pickle.npos) continue;
    if (found) return std::nullopt;
    found = type;
  }
  return found;
}

}  // namespace

Result<std::vector<std::vector<float>>> read_torch_storages(const ModelPath& path) {
  const auto file = path.file();
  if (!file) return file.error();
  const auto entries = read_entries((*file)->text());
  const auto other = [&](const char* expected) {
    return in_file(path.string(), unsupported("is {}, expected {}",
                                              entries ? "an archive of other contents"
                                                      : "no archive of torch.save",
                                              expected));
  };
  if (!entries || !entries->contains("data.pkl"))
    return other("one with tensors of one type, or model.safetensors beside it");
  const std::optional<DType> type = type_of(entries->at("data.pkl"));
  if (!type) return other("tensors of f32, f16 or bf16, all of one type");
  std::vector<std::vector<float>> storages;
  for (size_t i = 0;; ++i) {
    const auto found = entries->find("data/" + std::to_string(i));
    if (found == entries->end()) return storages;
    std::vector<float> values(found->second.size() / dtype_size(*type));
    read_weights(*type, reinterpret_cast<const std::byte*>(found->second.data()),
                 static_cast<int64_t>(values.size()), values.data());
    storages.push_back(std::move(values));
  }
}

}  // namespace pando::model
