#include "model/safetensors.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/check.h"
#include "base/errors.h"
#include "base/fields.h"
#include "base/json.h"
#include "base/numbers/weight_types.h"

namespace pando::model {
namespace {

using json = Json;
using TensorMap = std::map<std::string, TensorEntry, std::less<>>;

// The limit of the format's own library.
constexpr uint64_t kMaxHeader = 100'000'000;

// Bits of one element, or 0 for a type this reader does not know.
uint64_t element_bits(std::string_view dtype) {
  if (dtype == "F64" || dtype == "I64" || dtype == "U64" || dtype == "C64") return 64;
  if (dtype == "F32" || dtype == "I32" || dtype == "U32") return 32;
  if (dtype == "F16" || dtype == "BF16" || dtype == "I16" || dtype == "U16") return 16;
  if (dtype == "BOOL" || dtype == "I8" || dtype == "U8" || dtype.starts_with("F8_")) return 8;
  if (dtype.starts_with("F6_")) return 6;
  if (dtype == "F4") return 4;
  return 0;
}

// Bytes of a tensor, or nothing if they do not fit uint64 or are not whole.
std::optional<uint64_t> tensor_bytes(std::string_view dtype, std::span<const int64_t> shape) {
  uint64_t bits = element_bits(dtype);
  for (const int64_t n : shape)
    if (__builtin_mul_overflow(bits, static_cast<uint64_t>(n), &bits)) return std::nullopt;
  if (bits % 8 != 0) return std::nullopt;
  return bits / 8;
}

// An array of integers that are not negative and fit int64.
std::optional<std::vector<int64_t>> read_sizes(const json* value) {
  if (value == nullptr || !value->is_array()) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const json& item : *value) {
    if (!item.is_number_unsigned() || item.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
      return std::nullopt;
    sizes.push_back(item.get<int64_t>());
  }
  return sizes;
}

// One entry of the header; `data_begin` is where tensors start in the file.
Result<TensorEntry> read_entry(const std::string& source, const std::string& name,
                               const json& value, uint64_t data_begin, uint64_t file_size) {
  const TensorPlace where{source, name};
  if (!value.is_object())
    return in_tensor(where, bad_file("is {}, expected an object", found_text(value)));
  Fields fields(value, fmt::format("{}: tensor '{}'", source, name));
  TensorEntry entry;
  entry.dtype = fields.string("dtype", "");
  if (Status status = fields.status(); !status) return status.error();
  if (element_bits(entry.dtype) == 0)
    return in_tensor(where, unsupported("has dtype '{}', expected a type of the safetensors format",
                                        entry.dtype));
  const auto shape = read_sizes(fields.find("shape"));
  if (!shape) fields.refuse("shape", "an array of sizes");
  const auto offsets = read_sizes(fields.find("data_offsets"));
  const bool ordered = offsets && offsets->size() == 2 && (*offsets)[0] <= (*offsets)[1];
  if (!ordered) fields.refuse("data_offsets", "two offsets, begin and end");
  if (Status status = fields.status(); !status) return status.error();
  entry.shape = *shape;
  const uint64_t begin = static_cast<uint64_t>((*offsets)[0]);
  const uint64_t end = static_cast<uint64_t>((*offsets)[1]);
  if (end > file_size - data_begin)
    return in_tensor(
        where, bad_file("ends at byte {} of the data, expected at most {}: the file is cut short",
                        end, file_size - data_begin));
  const auto n_bytes = tensor_bytes(entry.dtype, entry.shape);
  if (!n_bytes || *n_bytes != end - begin)
    return in_tensor(where, bad_file("has {} bytes, expected {} for {} {}", end - begin,
                                     n_bytes ? std::to_string(*n_bytes) : "fewer than 2^64",
                                     entry.dtype, shape_text(entry.shape)));
  entry.offset = static_cast<size_t>(data_begin + begin);
  entry.n_bytes = static_cast<size_t>(end - begin);
  return entry;
}

// Checks that tensors fill the data without gaps, from the first byte to the last.
Status check_places(const std::string& source, const TensorMap& tensors, uint64_t data_begin,
                    uint64_t file_size) {
  using Place = std::pair<const std::string, TensorEntry>;
  std::vector<const Place*> order;
  for (const Place& place : tensors) order.push_back(&place);
  std::ranges::sort(order, {}, [](const Place* place) {
    return std::pair(place->second.offset, place->second.n_bytes);
  });
  uint64_t end = data_begin;
  for (size_t i = 0; i < order.size(); ++i) {
    const auto& [name, entry] = *order[i];
    if (entry.offset < end)
      return in_file(source, bad_file("tensors '{}' and '{}' overlap, expected separate bytes",
                                      order[i - 1]->first, name));
    if (entry.offset > end)
      return in_file(source,
                     of_tensor(name, bad_file("begins at byte {} of the data, expected {}, {}",
                                              entry.offset - data_begin, end - data_begin,
                                              i == 0 ? "the first byte"
                                                     : fmt::format("behind tensor '{}'",
                                                                   order[i - 1]->first))));
    end = entry.offset + entry.n_bytes;
  }
  if (end != file_size)
    return in_file(source, bad_file("has {} bytes of data, expected {}, the end of its last tensor",
                                    file_size - data_begin, end - data_begin));
  return {};
}

// Checks that the notes of the file's writer are names and texts.
Status check_notes(const std::string& source, const json& notes) {
  if (notes.is_null()) return {};
  if (!notes.is_object())
    return in_file(source, bad_file("'__metadata__' is {}, expected an object", found_text(notes)));
  for (const auto& [name, value] : notes.items())
    if (!value.is_string())
      return in_file(
          source, bad_file("'__metadata__.{}' is {}, expected a string", name, found_text(value)));
  return {};
}

Error write_error(const std::filesystem::path& path) {
  return in_file(path.string(),
                 io_error("cannot be written: {}", std::generic_category().message(errno)));
}

}  // namespace

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (const int64_t n : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(n);
  return text + "]";
}

Result<Safetensors> Safetensors::open(const ModelPath& path) {
  const auto opened = path.file();
  if (!opened) return opened.error();
  const std::shared_ptr<const MappedFile>& file = *opened;
  const std::string source = path.string();
  uint64_t header_len = 0;
  if (file->size() < sizeof header_len)
    return in_file(source, bad_file("has {} bytes, expected a safetensors file", file->size()));
  for (int i = 7; i >= 0; --i) header_len = header_len << 8 | static_cast<uint8_t>(file->data()[i]);
  const uint64_t most = std::min<uint64_t>(kMaxHeader, file->size() - sizeof header_len);
  if (header_len > most)
    return in_file(
        source,
        bad_file("header length is {}, expected at most {}: the file is not safetensors, or is cut "
                 "short",
                 header_len, most));
  const char* text = reinterpret_cast<const char*>(file->data()) + sizeof header_len;
  if (header_len == 0 || *text != '{')
    return in_file(source,
                   bad_file("its header does not begin with '{{', expected a safetensors file"));
  const Result<json> header =
      parse_json_object({text, static_cast<size_t>(header_len)}, source + ": header");
  if (!header) return header.error();
  TensorMap tensors;
  for (const auto& [name, value] : header->items()) {
    if (name == "__metadata__") {
      if (Status status = check_notes(source, value); !status) return status.error();
      continue;
    }
    Result<TensorEntry> entry =
        read_entry(source, name, value, sizeof header_len + header_len, file->size());
    if (!entry) return std::move(entry).error();
    tensors.emplace(name, std::move(entry).value());
  }
  const Status places = check_places(source, tensors, sizeof header_len + header_len, file->size());
  if (!places) return places.error();
  return Safetensors(file, std::move(tensors));
}

Result<SafetensorsWriter> SafetensorsWriter::create(const std::filesystem::path& path,
                                                    std::span<const Tensor> tensors) {
  SafetensorsWriter writer;
  nlohmann::ordered_json header = {{"__metadata__", {{"format", "pt"}}}};
  for (const Tensor& tensor : tensors) {
    const auto n_bytes = tensor_bytes(info_of(tensor.dtype).safetensors, tensor.shape);
    PANDO_CHECK(!info_of(tensor.dtype).safetensors.empty() && n_bytes &&
                !header.contains(tensor.name));
    const uint64_t end = writer.n_expected_ + *n_bytes;
    header[tensor.name] = {{"dtype", info_of(tensor.dtype).safetensors},
                           {"shape", tensor.shape},
                           {"data_offsets", {writer.n_expected_, end}}};
    writer.n_expected_ = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // tensors begin aligned
  std::string length(8, '\0');
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(text.size() >> (8 * i));
  writer.path_ = path;
  writer.partial_path_ = path.string() + ".partial";
  writer.file_.reset(std::fopen(writer.partial_path_.c_str(), "wb"));
  if (!writer.file_) return write_error(writer.partial_path_);
  text = length + text;
  if (std::fwrite(text.data(), 1, text.size(), writer.file_.get()) != text.size())
    return write_error(writer.partial_path_);
  return writer;
}

SafetensorsWriter::~SafetensorsWriter() {
  std::error_code ignored;
  if (file_) std::filesystem::remove(partial_path_, ignored);
}

Status SafetensorsWriter::append(std::span<const std::byte> bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size())
    return write_error(partial_path_);
  n_written_ += bytes.size();
  return {};
}

Status SafetensorsWriter::finish() {
  if (n_written_ != n_expected_)
    return in_file(path_.string(), invalid_argument("{} bytes of tensors were written, expected {}",
                                                    n_written_, n_expected_));
  if (std::fclose(file_.release()) != 0) return write_error(partial_path_);
  std::error_code failure;
  std::filesystem::rename(partial_path_, path_, failure);
  if (failure) return in_file(path_.string(), io_error("cannot be written: {}", failure.message()));
  return {};
}

}  // namespace pando::model
