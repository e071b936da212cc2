#include "text/spm_model.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/errors.h"
#include "text/character_map.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace pando {
namespace {

// Reads a message in the wire format of protocol buffers, field by field.
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
  if (!model.character_map.empty() && !is_character_map(model.character_map)) {
    return bad_file(
        "'{}': the normalizer's character map points outside itself or holds text that is not "
        "UTF-8",
        file);
  }
  return model;
}

}  // namespace pando
