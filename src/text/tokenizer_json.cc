#include "text/tokenizer_json.h"

#include <algorithm>

#include "text/bpe.h"
#include "text/byte_level.h"
#include "text/decoder_json.h"
#include "text/normalizer_json.h"
#include "text/pre_tokenizer_json.h"
#include "text/tokenizer_steps.h"
#include "text/unigram_json.h"
#include "text/utf8.h"
#include "text/wordpiece_json.h"

namespace pando {
namespace {

// Features of the model that change tokens and are not offered.
Status refuse_other_features(const JsonPlace& model) {
  const bool named = !model.at("type").absent();  // old files leave the type out
  if (is_unigram(model) || is_wordpiece(model)) return {};
  if (named && model.type_name() != "BPE")
    return model.at("type").not_offered("BPE, Unigram, WordPiece");
  for (const char* field : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const JsonPlace place = model.at(field);
    if (!place.absent() && place.json() != "") return place.not_offered("null");
  }
  const JsonPlace dropout = model.at("dropout");
  if (!dropout.absent() && dropout.json() != 0.0) return dropout.not_offered("null");
  return {};
}

Result<Bpe::Options> read_options(const JsonPlace& model, const Vocab& vocab, bool byte_level) {
  Bpe::Options options;
  options.byte_level = byte_level;
  const std::pair<const char*, bool*> flags[] = {{"byte_fallback", &options.byte_fallback},
                                                 {"fuse_unk", &options.fuse_unknown},
                                                 {"ignore_merges", &options.ignore_merges}};
  for (const auto& [name, flag] : flags) {
    const Result<bool> value = model.at(name).boolean(false);
    if (!value.ok()) return value.error();
    *flag = *value;
  }
  if (byte_level && options.byte_fallback) {
    return model.at("byte_fallback").not_offered("false where the pre-tokenizer is ByteLevel");
  }
  const JsonPlace unknown = model.at("unk_token");
  if (unknown.absent()) return options;
  const Result<std::string> text = unknown.text();
  if (!text.ok()) return text.error();
  if (text->empty()) return options;  // some files write so that there is none
  options.unknown = vocab.find(*text);
  if (!options.unknown) return unknown.wrong("a token of the vocabulary");
  return options;
}

// By id: the decoder's input for a token; empty if the vocabulary has none.
std::vector<std::string> all_pieces(const Vocab& vocab, const std::vector<AddedToken>& added,
                                    bool byte_level) {
  std::vector<std::string> pieces(vocab.size());
  for (Token id = 0; id < vocab.size(); ++id)
    pieces[id] =
        byte_level ? from_byte_level(vocab.text(id)).value_or(vocab.text(id)) : vocab.text(id);
  // Added tokens are not in the byte-level alphabet.
  for (const AddedToken& token : added)
    if (byte_level) pieces[token.id] = token.content;
  return pieces;
}

// By id: the bytes of a token in the middle of a text.
Result<std::vector<std::string>> all_token_bytes(const JsonPlace& root, const Decoder& decoder,
                                                 std::vector<std::string> pieces) {
  const bool has_bytes = std::any_of(decoder.steps.begin(), decoder.steps.end(), [](const auto& s) {
    return std::holds_alternative<decoding::ByteFallback>(s);
  });
  DecoderRun run(decoder.steps, /*first_in_text=*/false);
  for (size_t id = 0; id < pieces.size(); ++id) {
    std::string& piece = pieces[id];
    const auto byte = has_bytes ? byte_of_piece(piece) : std::nullopt;
    if (piece.empty() || find_invalid_utf8(piece)) continue;
    const size_t most = most_text(piece.size());
    if (byte)
      piece = std::string(1, *byte);
    else if (decoder.spaced)
      piece = ' ' + piece;
    else
      piece = run.push(piece) + run.finish(/*ends=*/false);
    if (piece.size() > most)
      return unsupported("'{}': field 'decoder' makes more than {} bytes out of token {}",
                         root.file(), most, id);
  }
  return pieces;
}

Result<std::vector<AddedToken>> read_added(const JsonPlace& place) {
  std::vector<AddedToken> added;
  if (place.absent()) return added;
  if (Status array = place.expect_array(); !array.ok()) return array.error();
  for (size_t i = 0; i < place.json().size(); ++i) {
    Result<AddedToken> token = read_added_token(place.at(i));
    if (!token.ok()) return token.error();
    const Result<Token> id = read_token_id(place.at(i).at("id"));
    if (!id.ok()) return id.error();
    token->id = *id;
    added.push_back(std::move(*token));
  }
  return added;
}

Result<std::unique_ptr<const WordModel>> read_bpe(const JsonPlace& model, const Vocab& vocab,
                                                  bool byte_level) {
  const Result<std::vector<Merge>> merges = read_merges(model.at("merges"), vocab);
  if (!merges.ok()) return merges.error();
  const Result<Bpe::Options> options = read_options(model, vocab, byte_level);
  if (!options.ok()) return options.error();
  return std::unique_ptr<const WordModel>(std::make_unique<Bpe>(vocab, *merges, *options));
}

// The model of a file that is neither Unigram nor of bytes.
Result<std::unique_ptr<const WordModel>> read_words(const JsonPlace& model, const Vocab& vocab,
                                                    bool byte_level) {
  if (!is_wordpiece(model)) return read_bpe(model, vocab, byte_level);
  if (byte_level) return model.at("type").not_offered("BPE where the pre-tokenizer is ByteLevel");
  return read_wordpiece(model, vocab);
}

// Fills in what depends on the tokens: added ones, their bytes, begin and end.
Status finish_tokens(const JsonPlace& root, const TokenizerConfig& config, const Decoder& decoder,
                     Vocab* vocab, TokenizerParts* parts) {
  const Result<std::vector<AddedToken>> added = read_added(root.at("added_tokens"));
  if (!added.ok()) return added.error();
  if (Status done = add_tokens(*added, root.file(), vocab, &parts->added); !done.ok()) return done;
  if (Status done = add_config_tokens(config, vocab, &parts->added); !done.ok()) return done;
  const auto around = read_post_processor(root.at("post_processor"), *vocab);
  if (!around.ok()) return around.error();
  OwnSpecialTokens own;
  own.before = around->before;
  own.after = around->after;
  own.templates = around->templates;
  own.is_template = true;
  if (!own.before.empty()) own.bos = own.before.front();
  Result<SpecialTokens> special = find_special_tokens(config, *vocab, own);
  if (!special.ok()) return special.error();
  parts->special = std::move(*special);
  std::vector<std::string> pieces = all_pieces(*vocab, parts->added, decoder.byte_level);
  auto bytes = all_token_bytes(root, decoder, pieces);
  if (!bytes.ok()) return bytes.error();
  parts->token_bytes = std::move(*bytes);
  parts->strips_leading_space = decoder.strips_leading_space;
  if (!decoder.by_token)
    parts->decoding = std::make_unique<const Decoding>(
        Decoding{decoder.steps, std::move(pieces), decoder.changed});
  return {};
}

}  // namespace

Result<TokenizerParts> read_tokenizer_json(const JsonPlace& root, const TokenizerConfig& config) {
  if (Status object = root.expect_object(); !object.ok()) return object.error();
  const JsonPlace model = root.at("model");
  if (Status object = model.expect_object(); !object.ok()) return object.error();
  if (Status status = refuse_other_features(model); !status.ok()) return status.error();

  Result<Normalizer> normalizer = read_normalizer(root.at("normalizer"));
  if (!normalizer.ok()) return normalizer.error();
  Result<PreTokenizerField> pre_tokenizer = read_pre_tokenizer(root.at("pre_tokenizer"));
  if (!pre_tokenizer.ok()) return pre_tokenizer.error();
  Result<Decoder> decoder = read_decoder(root.at("decoder"));
  if (!decoder.ok()) return decoder.error();
  if (decoder->byte_level != pre_tokenizer->byte_level) {
    return root.at("decoder").not_offered(
        "ByteLevel if and only if the pre-tokenizer is ByteLevel");
  }
  const bool unigram = is_unigram(model);
  Result<Vocab> vocab =
      unigram ? read_unigram_vocab(model.at("vocab")) : read_vocab(model.at("vocab"));
  if (!vocab.ok()) return vocab.error();
  std::vector<std::string> warnings;
  auto words = unigram ? read_unigram(model, *vocab, pre_tokenizer->byte_level, &warnings)
                       : read_words(model, *vocab, pre_tokenizer->byte_level);
  if (!words.ok()) return words.error();

  TokenizerParts parts{.model = std::move(*words),
                       .normalizer = std::move(*normalizer),
                       .pre_tokenizer = std::move(pre_tokenizer->steps),
                       .warnings = std::move(warnings)};
  Status done = finish_tokens(root, config, *decoder, &*vocab, &parts);
  if (!done.ok()) return done.error();
  return parts;
}

}  // namespace pando
