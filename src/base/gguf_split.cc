#include "base/gguf_split.h"

#include <algorithm>
#include <string_view>

#include "base/errors.h"
#include "base/gguf.h"

namespace pando {
namespace {

constexpr std::string_view kExtension = ".gguf", kOf = "-of-";
constexpr size_t kDigits = 5;

// The number of five digits that `text` ends with, which is cut off; 0 if there is none.
int cut_number(std::string_view& text) {
  if (text.size() < kDigits) return 0;
  const std::string_view digits = text.substr(text.size() - kDigits);
  int number = 0;
  for (const char digit : digits) {
    if (digit < '0' || digit > '9') return 0;
    number = 10 * number + (digit - '0');
  }
  text.remove_suffix(kDigits);
  return number;
}

bool cut_end(std::string_view& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.remove_suffix(end.size());
  return true;
}

}  // namespace

std::optional<GgufPart> gguf_part(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  std::string_view rest = name;
  if (!cut_end(rest, kExtension)) return std::nullopt;
  const int count = cut_number(rest);
  if (count == 0 || !cut_end(rest, kOf)) return std::nullopt;
  const int number = cut_number(rest);
  if (number == 0 || number > count || !cut_end(rest, "-")) return std::nullopt;
  return GgufPart{std::string(rest), number, count};
}

std::vector<std::filesystem::path> gguf_parts(const std::filesystem::path& path) {
  const std::optional<GgufPart> part = gguf_part(path);
  if (!part) return {path};
  std::vector<std::filesystem::path> paths;
  for (int i = 1; i <= part->count; ++i)
    paths.push_back(path.parent_path() /
                    fmt::format("{}-{:05}-of-{:05}.gguf", part->stem, i, part->count));
  return paths;
}

Result<GgufFile> GgufFile::open(const std::filesystem::path& path) {
  Result<GgufFile> first = open_one(path);
  if (!first) return first;
  if (Status status = first->add_parts(); !status) return status.error();
  return first;
}

Status GgufFile::add_parts() {
  constexpr const char *kCount = "split.count", *kNumber = "split.no",
                       *kTensors = "split.tensors.count";
  const auto count = integer(kCount), number = integer(kNumber);
  for (const auto& value : {count, number})
    if (!value) return value.error();
  if (count->value_or(1) <= 1) return {};
  const std::string source = file_.path().string();
  const std::vector<std::filesystem::path> paths = gguf_parts(file_.path());
  if (std::ssize(paths) != **count)
    return in_file(
        source,
        bad_file("is part {} of {} of a model, expected its name to end in -{:05}-of-{:05}.gguf",
                 number->value_or(0) + 1, **count, number->value_or(0) + 1, **count));
  if (number->value_or(0) != 0)
    return in_file(source, invalid_argument("is part {} of {} of a model, expected part 1, {}",
                                            number->value_or(0) + 1, **count, paths[0].string()));
  for (size_t i = 1; i < paths.size(); ++i) {
    Result<GgufFile> part = open_one(paths[i]);
    if (!part)
      return in_file(fmt::format("{}: part {} of {}", source, i + 1, paths.size()), part.error());
    const auto its_count = part->integer(kCount), its_number = part->integer(kNumber);
    if (!its_count || *its_count != *count || !its_number || *its_number != static_cast<int64_t>(i))
      return in_file(
          paths[i].string(),
          bad_file(
              "is part {} of {} by its name, expected the same numbers in its keys '{}' and '{}'",
              i + 1, paths.size(), kNumber, kCount));
    if (Status status = add_tensors(std::move(*part)); !status) return status;
  }
  const auto stated = integer(kTensors);
  if (!stated) return stated.error();
  if (stated->value_or(std::ssize(tensors_)) != std::ssize(tensors_))
    return in_file(source, bad_file("the {} parts hold {} tensors, expected {} ('{}')",
                                    paths.size(), tensors_.size(), **stated, kTensors));
  return {};
}

Status GgufFile::add_tensors(GgufFile part) {
  parts_.push_back(std::move(part.file_));
  for (GgufTensor& tensor : part.tensors_) {
    tensor.file = static_cast<uint32_t>(parts_.size());
    if (!tensor_index_.emplace(tensor.name, tensors_.size()).second)
      return in_file(parts_.back().path().string(),
                     of_tensor(tensor.name,
                               bad_file("is also in another part, expected it in only one part")));
    tensors_.push_back(std::move(tensor));
  }
  return {};
}

}  // namespace pando
