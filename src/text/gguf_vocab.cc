#include "text/gguf_vocab.h"

#include <algorithm>
#include <array>

#include "base/errors.h"
#include "text/bpe.h"
#include "text/byte_level.h"
#include "text/gguf_special.h"
#include "text/gguf_unigram.h"
#include "text/gguf_words.h"
#include "text/score_merges.h"
#include "text/utf8.h"
#include "text/wordpiece.h"

namespace pando {
namespace {

// Phi-3's written tokens take the spaces after them, which GGUF has no field for: it follows, as in
// llama.cpp, from the name of the model. These do not.
constexpr std::array<std::string_view, 3> kPhi3Plain = {"<unk>", "<s>", "<|endoftext|>"};

bool is_phi3_name(std::string_view name) {
  std::string lower;
  for (char c : name) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower.find("phi-3") != lower.npos || lower.find("phi3") != lower.npos;
}

bool has_space(std::string_view text) {
  return text.find(' ') != text.npos || text.find(kSpaceMark) != text.npos;
}

class VocabReader {
 public:
  explicit VocabReader(const GgufFile& gguf) : gguf_(gguf), file_(gguf.file().path().string()) {}

  Result<TokenizerParts> read() {
    const auto model = gguf_.string("tokenizer.ggml.model");
    if (!model.ok()) return model.error();
    if (!*model || **model == "no_vocab" || **model == "none") {
      Error none = gguf_.wrong("tokenizer.ggml.model", "the name of a tokenizer model");
      none.code = ErrorCode::kNotFound;  // a file may hold weights alone
      return none;
    }
    model_ = **model;
    defaults_ = gguf_defaults(model_);
    if (Status done = read_pieces(); !done.ok()) return done.error();
    const std::vector<Token> ends = find_gguf_ends(&pieces_);
    Result<TokenizerParts> parts = model_ == "gpt2" || model_ == "gemma4" ? merged()
                                   : model_ == "llama"                    ? scored()
                                   : model_ == "bert"                     ? wordpiece()
                                   : model_ == "t5"
                                       ? read_gguf_unigram(gguf_, pieces_, defaults_.unknown)
                                       : not_offered();
    if (!parts.ok()) return parts;
    const Result<bool> phi3 = is_phi3();
    if (!phi3.ok()) return phi3.error();
    add_written(*phi3, &*parts);
    parts->warnings = std::move(warnings_);
    const Status done = find_gguf_special(gguf_, pieces_, ends, defaults_, &*parts);
    if (!done.ok()) return done.error();
    return parts;
  }

 private:
  Result<bool> is_phi3() const {
    const auto name = gguf_.string("general.name");
    if (!name.ok()) return name.error();
    const auto architecture = gguf_.string("general.architecture");
    if (!architecture.ok()) return architecture.error();
    // Phi-4-mini has the architecture too, with a byte-level vocabulary.
    return is_phi3_name(name->value_or("")) || (*architecture == "phi3" && model_ == "llama");
  }

  Result<TokenizerParts> not_offered() const {
    return in_file(
        file_,
        unsupported("'tokenizer.ggml.model' is '{}'; supported: gpt2, gemma4, llama, t5, bert",
                    model_));
  }

  // Texts, scores and types, by id.
  Status read_pieces() {
    const auto texts = gguf_.strings("tokenizer.ggml.tokens");
    if (!texts.ok()) return texts.error();
    const auto scores = gguf_.reals("tokenizer.ggml.scores");
    if (!scores.ok()) return scores.error();
    const auto types = gguf_.integers("tokenizer.ggml.token_type");
    if (!types.ok()) return types.error();
    const size_t n = *texts ? (*texts)->size() : 0;
    if (n == 0 || n > kMaxToken) return wrong("tokens", "an array of at least one token");
    const std::string each = fmt::format("{} entries, one per token", n);
    if (*types && (*types)->size() != n) return wrong("token_type", each);
    if (*scores && (*scores)->size() != n) return wrong("scores", each);
    for (size_t id = 0; id < n; ++id) {
      const std::string_view text = (**texts)[id];
      if (find_invalid_utf8(text)) return in_file(file_, bad_file("token {} is not UTF-8", id));
      const Result<PieceType> type = *types ? type_of(id, (**types)[id]) : type_of_text(text);
      if (!type.ok()) return type.error();
      pieces_.push_back({text, *scores ? (**scores)[id] : 0.0f, *type});
    }
    return {};
  }

  Result<PieceType> type_of(size_t id, int64_t type) const {
    if (type < 0 || type > 6) {
      return in_file(file_, bad_file("token {} has type {}, expected 0 to 6", id, type));
    }
    return type == 0 ? PieceType::kUnused : static_cast<PieceType>(type);  // 0: undefined
  }

  // Type of a piece in a file without types.
  static Result<PieceType> type_of_text(std::string_view text) {
    return byte_of_token_text(text) ? PieceType::kByte : PieceType::kNormal;
  }

  Error wrong(std::string_view key, std::string_view expected) const {
    return gguf_.wrong(fmt::format("tokenizer.ggml.{}", key), expected);
  }

  // The words of a model that merges.
  Result<GgufWords> find_words() {
    if (model_ == "gemma4") return gguf_words("gemma4", file_);
    const auto name = gguf_.string("tokenizer.ggml.pre");
    if (!name.ok()) return name.error();
    if (!*name) {
      warnings_.push_back(
          fmt::format("'{}': 'tokenizer.ggml.pre' is missing; using 'default', so tokens may be "
                      "wrong",
                      file_));
    }
    return gguf_words(name->value_or("default"), file_);
  }

  Result<TokenizerParts> merged() {
    Result<GgufWords> words = find_words();
    if (!words.ok()) return words.error();
    const Result<Vocab> vocab = vocab_of_pieces();
    if (!vocab.ok()) return vocab.error();
    const auto lines = gguf_.strings("tokenizer.ggml.merges");
    if (!lines.ok()) return lines.error();
    if (!*lines && !words->merges_may_lack) return wrong("merges", "an array of merges");
    const auto merges =
        read_merge_list(lines->value_or(std::vector<std::string_view>()), file_, *vocab);
    if (!merges.ok()) return merges.error();
    Bpe::Options options;
    options.byte_level = words->byte_level;
    options.byte_fallback = !words->byte_level;
    options.ignore_merges = words->ignore_merges;
    options.joins_line_ends = words->joins_line_ends;
    TokenizerParts parts;
    parts.model = std::make_unique<Bpe>(*vocab, *merges, options);
    parts.normalizer = std::move(words->normalizer);
    parts.pre_tokenizer = std::move(words->pre_tokenizer);
    defaults_.puts_bos = words->puts_bos;
    defaults_.always_puts_bos = words->always_puts_bos;
    if (!words->has_default_bos) defaults_.bos.reset();
    for (const Piece& piece : pieces_) parts.token_bytes.push_back(bytes_of(piece, *words));
    return parts;
  }

  static std::string bytes_of(const Piece& piece, const GgufWords& words) {
    const std::string text(piece.text);
    const bool written = piece.type == PieceType::kControl || piece.type == PieceType::kUnknown ||
                         piece.type == PieceType::kUserDefined;
    if (written) return text;
    if (words.byte_level) return from_byte_level(text).value_or(text);
    if (const auto byte = byte_of_token_text(text)) return std::string(1, *byte);
    return words.marks_spaces ? replace_all(text, kSpaceMark, " ") : text;
  }

  Result<TokenizerParts> scored() {
    const Result<bool> first = gguf_flag(gguf_, "add_space_prefix", true);
    if (!first.ok()) return first.error();
    const Result<bool> removes = gguf_flag(gguf_, "remove_extra_whitespaces", false);
    if (!removes.ok()) return removes.error();
    const auto unknown = gguf_token(gguf_, "unknown_token_id", pieces_.size(), defaults_.unknown);
    if (!unknown.ok()) return unknown.error();
    ScoredVocab vocab;
    vocab.pieces = pieces_;
    vocab.unknown = *unknown;
    vocab.byte_fallback = std::any_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) {
      return piece.type == PieceType::kByte;
    });
    vocab.puts_space_first = *first;
    vocab.removes_spaces = *removes;
    Result<TokenizerParts> parts = make_score_parts(vocab, file_);
    if (!parts.ok()) return parts;
    // User-defined pieces with spaces are searched for after spaces have become marks, as in the
    // SentencePiece library; the others in the text as written.
    std::erase_if(parts->added, [](const AddedToken& token) { return !has_space(token.content); });
    return parts;
  }

  Result<TokenizerParts> wordpiece() const {
    const auto unknown = gguf_token(gguf_, "unknown_token_id", pieces_.size(), defaults_.unknown);
    if (!unknown.ok()) return unknown.error();
    if (!*unknown) return wrong("unknown_token_id", "an id");
    const Result<bool> lowercase = gguf_flag(gguf_, "normalizer.lowercase", true);
    if (!lowercase.ok()) return lowercase.error();
    const Result<bool> accents = gguf_flag(gguf_, "normalizer.strip_accents", *lowercase);
    if (!accents.ok()) return accents.error();
    const Result<Vocab> vocab = vocab_of_pieces();
    if (!vocab.ok()) return vocab.error();
    Result<SplitPattern> spaces = SplitPattern::compile(R"(\s)");
    if (!spaces.ok()) return spaces.error();
    Result<SplitPattern> punctuation = SplitPattern::compile(R"([\p{P}$+<=>^`|~])");
    if (!punctuation.ok()) return punctuation.error();
    WordPiece::Options options{.unknown = **unknown, .first = std::string(kSpaceMark), .later = ""};
    TokenizerParts parts;
    parts.model = std::make_unique<WordPiece>(*vocab, options);
    parts.normalizer =
        Normalizer({normal::Bert{.strip_accents = *accents, .lowercase = *lowercase}});
    parts.pre_tokenizer = PreTokenizer({pre::Split{std::move(*spaces), pre::Split::Keep::kBetween},
                                        pre::Split{std::move(*punctuation)}});
    parts.strips_leading_space = true;
    for (const Piece& piece : pieces_) {
      parts.token_bytes.push_back(replace_all(piece.text, kSpaceMark, " "));
    }
    return parts;
  }

  Result<Vocab> vocab_of_pieces() const {
    Vocab vocab;
    for (size_t id = 0; id < pieces_.size(); ++id) {
      const std::string text(pieces_[id].text);
      if (text.empty()) continue;  // stands for nothing; there may be several
      if (!vocab.add(text, static_cast<Token>(id))) {
        return in_file(file_, bad_file("token {} is '{}', expected each token once", id, text));
      }
    }
    return vocab;
  }

  // Control, unknown and user-defined tokens are found where they are written out in a text.
  void add_written(bool phi3, TokenizerParts* parts) const {
    for (size_t id = 0; id < pieces_.size(); ++id) {
      const Piece& piece = pieces_[id];
      const bool hidden = piece.type == PieceType::kControl || piece.type == PieceType::kUnknown;
      const bool shown = piece.type == PieceType::kUserDefined &&
                         !(model_ == "llama" && has_space(piece.text));  // added already
      if ((!hidden && !shown) || piece.text.empty()) continue;
      AddedToken token;
      token.id = static_cast<Token>(id);
      token.content = std::string(piece.text);
      token.special = hidden;
      token.rstrip =
          phi3 && std::find(kPhi3Plain.begin(), kPhi3Plain.end(), piece.text) == kPhi3Plain.end();
      parts->added.push_back(std::move(token));
    }
  }

  const GgufFile& gguf_;
  std::string file_;
  std::string model_;
  std::vector<Piece> pieces_;
  GgufDefaults defaults_;
  std::vector<std::string> warnings_;
};

}  // namespace

Result<TokenizerParts> read_gguf_vocab(const GgufFile& file) { return VocabReader(file).read(); }

}  // namespace pando
