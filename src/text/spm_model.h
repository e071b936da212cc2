// The content of a SentencePiece model file, as far as byte-pair encoding needs it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pando/values/result.h"

namespace pando {

// Numbered as in the file, and in GGUF vocabularies.
enum class PieceType { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

struct Piece {
  std::string_view text;
  float score = 0;
  PieceType type = PieceType::kNormal;
};

struct SpmModel {
  std::vector<Piece> pieces;  // by id; their texts lie in the bytes that were read
  bool is_bpe = false;
  bool byte_fallback = false;
  bool marks_after = false;  // the mark of a space goes to the end of a word
  // Options of the normaliser:
  std::string_view character_map;  // of the SentencePiece library; empty: none
  bool puts_space_first = true;
  bool removes_spaces = true;
  bool marks_spaces = true;
};

// `bytes` is a serialised ModelProto. kBadFile if it is none, for scores that are no numbers, and
// for a character map that leads outside itself; `file` is for messages.
Result<SpmModel> read_spm_model(std::string_view bytes, const std::string& file);

}  // namespace pando
