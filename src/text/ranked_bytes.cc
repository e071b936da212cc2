#include "text/ranked_bytes.h"

#include "base/errors.h"
#include "text/bpe.h"
#include "text/byte_level.h"

namespace pando {

std::string byte_level_text(std::string_view bytes) {
  std::string text;
  for (char byte : bytes) text += byte_level_character(static_cast<unsigned char>(byte));
  return text;
}

Result<std::unique_ptr<const WordModel>> make_ranked_model(const std::vector<std::string>& tokens,
                                                           Token first, const std::string& file) {
  Vocab vocab;
  std::vector<RankedText> ranked;
  for (size_t rank = 0; rank < tokens.size(); ++rank) {
    const Token id = first + static_cast<Token>(rank);
    if (!vocab.add(byte_level_text(tokens[rank]), id)) {
      return bad_file("'{}': the token of rank {} appears twice", file, rank);
    }
    ranked.push_back({tokens[rank], id, static_cast<uint32_t>(rank)});
  }
  const Result<std::vector<Merge>> merges = merges_of_results(ranked, file);
  if (!merges.ok()) return merges.error();
  Bpe::Options options;
  options.byte_level = true;
  options.ignore_merges = true;  // a word that is a token is not merged
  return std::unique_ptr<const WordModel>(std::make_unique<Bpe>(vocab, *merges, options));
}

}  // namespace pando
