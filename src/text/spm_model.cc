#include "text/spm_model.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/errors.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace pando {
namespace {

// One field after the other of a message in the wire format of protocol buffers.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  int number = 0;
  uint64_t value = 0;      // of a varint
  std::string_view bytes;  // of a string or message, or the four or eight of a fixed field

  // False at the end and where the bytes are no field.
  bool next() {
    if (rest_.empty()) return false;
    const uint64_t key = varint();
    number = static_cast<int>(key >> 3);
    value = 0;
    bytes = {};
    switch (key & 7) {
      case 0:
        value = varint();
        break;
      case 1:
        bytes = take(8);
        break;
      case 2:
        bytes = take(varint());
        break;
      case 5:
        bytes = take(4);
        break;
      default:
        broken_ = true;
    }
    return !broken_;
  }
  bool broken() const { return broken_; }

 private:
  uint64_t varint() {
    uint64_t result = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      result |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return result;
    }
    broken_ = true;
    return 0;
  }
  std::string_view take(uint64_t n) {
    if (n > rest_.size()) broken_ = true;
    if (broken_) return {};
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }

  std::string_view rest_;
  bool broken_ = false;
};

// The field numbers are those of sentencepiece_model.proto.
bool read_piece(std::string_view bytes, SpmModel* model) {
  Fields field(bytes);
  Piece piece;
  while (field.next()) {
    if (field.number == 1) piece.text = field.bytes;
    if (field.number == 2 && field.bytes.size() == sizeof piece.score) {
      std::memcpy(&piece.score, field.bytes.data(), sizeof piece.score);
    }
    if (field.number == 3) {
      if (field.value < 1 || field.value > 6) return false;
      piece.type = static_cast<PieceType>(field.value);
    }
  }
  model->pieces.push_back(piece);
  return !field.broken();
}

bool read_trainer(std::string_view bytes, SpmModel* model) {
  Fields field(bytes);
  while (field.next()) {
    constexpr uint64_t kBpe = 2;
    if (field.number == 3) model->is_bpe = field.value == kBpe;
    if (field.number == 24) model->marks_after = field.value != 0;
    if (field.number == 35) model->byte_fallback = field.value != 0;
  }
  return !field.broken();
}

bool read_normalizer(std::string_view bytes, SpmModel* model) {
  Fields field(bytes);
  while (field.next()) {
    if (field.number == 2) model->character_map = field.bytes;
    if (field.number == 3) model->puts_space_first = field.value != 0;
    if (field.number == 4) model->removes_spaces = field.value != 0;
    if (field.number == 5) model->marks_spaces = field.value != 0;
  }
  return !field.broken();
}

// A character map is the size of a trie in bytes, the trie, and texts that end with a zero. The
// trie is a double array: from base b the byte c leads to unit b ^ c. The library follows it
// unchecked.
class CharacterMap {
 public:
  explicit CharacterMap(std::string_view bytes) : bytes_(bytes) {}

  bool is_sound() const {
    if (bytes_.size() < sizeof(uint32_t)) return false;
    const size_t trie_bytes = word(0);
    if (trie_bytes % sizeof(uint32_t) != 0 || trie_bytes >= bytes_.size() - sizeof(uint32_t))
      return false;
    const size_t n_units = trie_bytes / sizeof(uint32_t);
    const size_t n_texts = bytes_.size() - sizeof(uint32_t) - trie_bytes;
    if (n_units == 0 || bytes_.back() != '\0') return false;

    std::vector<bool> seen(n_units);
    std::vector<size_t> bases;
    const auto add_base = [&](size_t unit) {
      const size_t base = unit ^ offset(word(1 + unit));
      if ((base | 0xFF) >= n_units) return false;
      if (!seen[base]) bases.push_back(base);
      seen[base] = true;
      return true;
    };
    if (!add_base(0)) return false;
    while (!bases.empty()) {
      const size_t base = bases.back();
      bases.pop_back();
      for (size_t byte = 0; byte < 256; ++byte) {
        const size_t unit = base ^ byte;
        if ((word(1 + unit) & 0x8000'00FFu) != byte) continue;  // its label
        if (!add_base(unit)) return false;
        const bool has_value = (word(1 + unit) >> 8 & 1) != 0;
        const size_t at = unit ^ offset(word(1 + unit));
        if (has_value && (word(1 + at) & 0x7FFF'FFFFu) >= n_texts) return false;
      }
    }
    return true;
  }

 private:
  uint32_t word(size_t index) const {
    uint32_t value;
    std::memcpy(&value, bytes_.data() + index * sizeof value, sizeof value);
    return value;
  }
  static size_t offset(uint32_t unit) { return static_cast<size_t>(unit >> 10) << (unit >> 6 & 8); }

  std::string_view bytes_;
};

}  // namespace

Result<SpmModel> read_spm_model(std::string_view bytes, const std::string& file) {
  SpmModel model;
  Fields field(bytes);
  bool fine = true;
  while (fine && field.next()) {
    if (field.number == 1) fine = read_piece(field.bytes, &model);
    if (field.number == 2) fine = read_trainer(field.bytes, &model);
    if (field.number == 3) fine = read_normalizer(field.bytes, &model);
  }
  if (!fine || field.broken() || model.pieces.empty()) {
    return bad_file("'{}' is not a SentencePiece model", file);
  }
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const Piece& piece = model.pieces[id];
    if (piece.text.empty()) return bad_file("'{}': piece {} is empty", file, id);
    if (find_invalid_utf8(piece.text)) return bad_file("'{}': piece {} is not UTF-8", file, id);
    if (!std::isfinite(piece.score)) {
      return bad_file("'{}': piece {} has score {}, expected a number", file, id, piece.score);
    }
  }
  if (!model.character_map.empty() && !CharacterMap(model.character_map).is_sound()) {
    return bad_file("'{}': the normalizer's character map points outside itself", file);
  }
  return model;
}

}  // namespace pando
