#include "text/unigram_json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "text/bpe.h"
#include "text/byte_level.h"
#include "text/unigram.h"

namespace pando {
namespace {

// The score that the library `tokenizers` makes of a number: its digits as an integer, multiplied
// or divided by a power of ten. One score in four differs in the last bit from the nearest double.
// Sums of the same pieces in another order may be as close. If a file has more digits than the
// shortest, the library may read another last bit.
double as_library_reads(double number) {
  std::array<char, 32> digits;  // the shortest that give the number: 1.2345e-05
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), std::abs(number),
                                     std::chars_format::scientific);
  uint64_t whole = 0;
  int exponent = 0;
  const char* at = digits.data();
  for (bool behind_point = false; at != written.ptr && *at != 'e'; ++at) {
    if (*at == '.') {
      behind_point = true;
      continue;
    }
    whole = whole * 10 + static_cast<uint64_t>(*at - '0');
    exponent -= behind_point ? 1 : 0;
  }
  int power = 0;
  const char* from = at + (at + 1 < written.ptr && at[1] == '+' ? 2 : 1);
  std::from_chars(from, written.ptr, power);
  exponent += power;

  constexpr int kMost = std::numeric_limits<double>::max_exponent10;
  auto score = static_cast<double>(whole);
  for (; exponent < -kMost; exponent += kMost) score /= 1e308;
  const std::string text = fmt::format("1e{}", std::abs(exponent));
  double scale = 1;
  std::from_chars(text.data(), text.data() + text.size(), scale);
  score = exponent < 0 ? score / scale : score * scale;
  return std::signbit(number) ? -score : score;
}

bool is_piece(const Json& value) {
  return value.is_array() && value.size() == 2 && value[0].is_string() && value[1].is_number() &&
         std::isfinite(value[1].get<double>());
}

// True if every text has tokens even without an unknown token.
bool has_all_bytes(const Vocab& vocab, const Unigram::Options& options) {
  if (!options.byte_fallback && !options.byte_level) return false;
  for (int value = 0; value < 256; ++value) {
    const auto byte = static_cast<unsigned char>(value);
    if (!vocab.find(options.byte_level ? byte_level_character(byte) : byte_token_text(byte)))
      return false;
  }
  return true;
}

}  // namespace

bool is_unigram(const JsonPlace& model) {
  const JsonPlace vocab = model.at("vocab");
  if (model.at("type").absent()) return !vocab.absent() && vocab.json().is_array();
  return model.type_name() == "Unigram";
}

Result<Vocab> read_unigram_vocab(const JsonPlace& place) {
  if (Status array = place.expect_array(); !array.ok()) return array.error();
  const Json& list = place.json();
  if (list.empty() || list.size() > static_cast<size_t>(kMaxToken)) {
    return place.wrong(fmt::format("1 to {} pieces", kMaxToken));
  }
  Vocab vocab;
  for (size_t id = 0; id < list.size(); ++id) {
    if (!is_piece(list[id])) return place.at(id).wrong("[\"piece\", score]");
    const auto& text = list[id][0].get_ref<const std::string&>();
    if (text.size() > Unigram::kLongestPiece) {
      return unsupported("'{}': field '{}' has {} bytes, supported: up to {}", place.file(),
                         place.at(id).name(), text.size(), Unigram::kLongestPiece);
    }
    if (!vocab.add(text, static_cast<Token>(id))) return place.at(id).wrong("each piece once");
  }
  return vocab;
}

Result<std::unique_ptr<const WordModel>> read_unigram(const JsonPlace& model, const Vocab& vocab,
                                                      bool byte_level,
                                                      std::vector<std::string>* warnings) {
  Unigram::Options options;
  options.byte_level = byte_level;
  const Result<bool> bytes = model.at("byte_fallback").boolean(false);
  if (!bytes.ok()) return bytes.error();
  options.byte_fallback = *bytes;
  if (byte_level && *bytes) {
    return model.at("byte_fallback").not_offered("false where the pre-tokenizer is ByteLevel");
  }
  if (const JsonPlace unknown = model.at("unk_id"); !unknown.absent()) {
    const Result<int64_t> id = unknown.integer();
    if (!id.ok()) return id.error();
    if (*id < 0 || *id >= vocab.size()) {
      return unknown.wrong(fmt::format("an id from 0 to {}", vocab.size() - 1));
    }
    options.unknown = static_cast<Token>(*id);
  } else if (!has_all_bytes(vocab, options)) {
    warnings->push_back(fmt::format("'{}': '{}' is missing; characters without a piece are dropped",
                                    model.file(), unknown.name()));
  }
  std::vector<double> scores;
  for (const Json& piece : model.at("vocab").json()) {
    scores.push_back(as_library_reads(piece[1].get<double>()));
  }
  return std::unique_ptr<const WordModel>(std::make_unique<Unigram>(vocab, scores, options));
}

}  // namespace pando
