#include "text/gguf_vocab.h"

#include <algorithm>
#include <array>

#include "base/errors.h"
#include "text/bpe.h"
#include "text/byte_level.h"
#include "text/gguf_words.h"
#include "text/score_merges.h"
#include "text/wordpiece.h"

namespace pando {
namespace {

// Control tokens by these texts end an answer, whatever the file names as its end.
constexpr std::array<std::string_view, 7> kEnds = {"<|eot_id|>", "<|eom_id|>",    "<|im_end|>",
                                                   "<|end|>",    "<end_of_turn>", "<|endoftext|>",
                                                   "<|EOT|>"};

// Phi-3's written tokens take the spaces after them, which GGUF has no field for: it follows, as in
// llama.cpp, from the name of the model. These do not.
constexpr std::array<std::string_view, 3> kPhi3Plain = {"<unk>", "<s>", "<|endoftext|>"};

bool is_phi3_name(std::string_view name) {
  std::string lower;
  for (char c : name) lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower.find("phi-3") != lower.npos || lower.find("phi3") != lower.npos;
}

class VocabReader {
 public:
  explicit VocabReader(const GgufFile& gguf) : gguf_(gguf), file_(gguf.file().path().string()) {}

  Result<TokenizerParts> read() {
    const auto model = gguf_.string("tokenizer.ggml.model");
    if (!model.ok()) return model.error();
    if (!*model) {
      Error none = gguf_.wrong("tokenizer.ggml.model", "the name of a tokenizer's model");
      none.code = ErrorCode::kNotFound;  // a file may hold weights alone
      return none;
    }
    if (Status done = read_pieces(); !done.ok()) return done.error();
    Result<TokenizerParts> parts = **model == "gpt2"    ? byte_level()
                                   : **model == "llama" ? scored()
                                   : **model == "bert"  ? wordpiece()
                                                        : not_offered(**model);
    if (!parts.ok()) return parts;
    const Result<bool> phi3 = is_phi3(**model);
    if (!phi3.ok()) return phi3.error();
    add_written(*phi3, &*parts);
    if (Status done = find_special(&*parts); !done.ok()) return done.error();
    return parts;
  }

 private:
  Result<bool> is_phi3(std::string_view model) const {
    const auto name = gguf_.string("general.name");
    if (!name.ok()) return name.error();
    const auto architecture = gguf_.string("general.architecture");
    if (!architecture.ok()) return architecture.error();
    // Phi-4-mini has the architecture too, with a byte-level vocabulary.
    return is_phi3_name(name->value_or("")) || (*architecture == "phi3" && model == "llama");
  }

  Result<TokenizerParts> not_offered(std::string_view model) {
    return unsupported("{}: 'tokenizer.ggml.model' is '{}'; offered here: gpt2, llama, bert", file_,
                       model);
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
    const std::string each = fmt::format("{} of them, one for each token", n);
    if (!*types || (*types)->size() != n) return wrong("token_type", each);
    if (*scores && (*scores)->size() != n) return wrong("scores", each);
    has_scores_ = scores->has_value();
    for (size_t id = 0; id < n; ++id) {
      const int64_t type = (**types)[id];
      if (type < 1 || type > 6) {
        return bad_file("{}: token {} has type {}, expected 1 to 6", file_, id, type);
      }
      if (find_invalid_utf8((**texts)[id])) {
        return bad_file("{}: token {} is not UTF-8", file_, id);
      }
      pieces_.push_back(
          {(**texts)[id], *scores ? (**scores)[id] : 0.0f, static_cast<PieceType>(type)});
    }
    return {};
  }

  Error wrong(std::string_view key, std::string_view expected) const {
    return gguf_.wrong(fmt::format("tokenizer.ggml.{}", key), expected);
  }

  Result<bool> flag(std::string_view key, bool if_absent) const {
    const auto value = gguf_.boolean(fmt::format("tokenizer.ggml.{}", key));
    if (!value.ok()) return value.error();
    return value->value_or(if_absent);
  }

  // A token that the file names, where it does.
  Result<std::optional<Token>> named(std::string_view key) const {
    const std::string name = fmt::format("tokenizer.ggml.{}", key);
    const auto id = gguf_.token_id(name);
    if (!id.ok()) return id.error();
    if (!*id) return std::optional<Token>();
    if (**id < 0 || **id >= static_cast<int64_t>(pieces_.size())) {
      return wrong(key, fmt::format("an id below {}", pieces_.size()));
    }
    return std::optional(static_cast<Token>(**id));
  }

  Result<TokenizerParts> byte_level() {
    const auto name = gguf_.string("tokenizer.ggml.pre");
    if (!name.ok()) return name.error();
    Result<GgufWords> words = gguf_words(name->value_or("default"), file_);
    if (!words.ok()) return words.error();
    const Result<Vocab> vocab = vocab_of_pieces();
    if (!vocab.ok()) return vocab.error();
    const auto lines = gguf_.strings("tokenizer.ggml.merges");
    if (!lines.ok()) return lines.error();
    if (!*lines) return wrong("merges", "an array of merges");
    const Result<std::vector<Merge>> merges = read_merge_list(**lines, file_, *vocab);
    if (!merges.ok()) return merges.error();
    Bpe::Options options;
    options.byte_level = true;
    options.ignore_merges = words->ignore_merges;
    Result<Bpe> bpe = Bpe::build(*vocab, *merges, options, file_);
    if (!bpe.ok()) return bpe.error();
    TokenizerParts parts;
    parts.model = std::make_unique<Bpe>(std::move(*bpe));
    parts.normalizer = std::move(words->normalizer);
    parts.pre_tokenizer = std::move(words->pre_tokenizer);
    puts_bos_ = words->puts_bos;
    for (const Piece& piece : pieces_) {
      std::string text(piece.text);
      const bool written =
          piece.type == PieceType::kControl || piece.type == PieceType::kUserDefined;
      parts.token_bytes.push_back(written ? text : from_byte_level(text).value_or(text));
    }
    return parts;
  }

  Result<TokenizerParts> scored() {
    if (!has_scores_) return wrong("scores", "an array of floats");
    const Result<bool> first = flag("add_space_prefix", true);
    if (!first.ok()) return first.error();
    const Result<bool> removes = flag("remove_extra_whitespaces", false);
    if (!removes.ok()) return removes.error();
    ScoredVocab vocab;
    vocab.pieces = pieces_;
    vocab.byte_fallback = std::any_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) {
      return piece.type == PieceType::kByte;
    });
    vocab.puts_space_first = *first;
    vocab.removes_spaces = *removes;
    Result<TokenizerParts> parts = make_score_parts(vocab, file_);
    if (!parts.ok()) return parts;
    parts->added.clear();  // in GGUF the text is cut before it is normalised
    puts_bos_ = true;
    return parts;
  }

  Result<TokenizerParts> wordpiece() {
    const auto unknown = named("unknown_token_id");
    if (!unknown.ok()) return unknown.error();
    if (!*unknown) return wrong("unknown_token_id", "an id");
    const Result<Vocab> vocab = vocab_of_pieces();
    if (!vocab.ok()) return vocab.error();
    Result<SplitPattern> spaces = SplitPattern::compile(R"(\s)");
    if (!spaces.ok()) return spaces.error();
    Result<SplitPattern> punctuation = SplitPattern::compile(R"([\p{P}$+<=>^`|~])");
    if (!punctuation.ok()) return punctuation.error();
    WordPiece::Options options{.unknown = **unknown, .first = std::string(kSpaceMark), .later = ""};
    TokenizerParts parts;
    parts.model = std::make_unique<WordPiece>(*vocab, options);
    parts.normalizer = Normalizer({normal::Bert{}});
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
      if (!vocab.add(text, static_cast<Token>(id))) {
        return bad_file("{}: token {} is '{}', expected each token once", file_, id, text);
      }
    }
    return vocab;
  }

  // Control and user-defined tokens are found where they are written out in a text.
  void add_written(bool phi3, TokenizerParts* parts) const {
    for (size_t id = 0; id < pieces_.size(); ++id) {
      const Piece& piece = pieces_[id];
      const bool control = piece.type == PieceType::kControl;
      if ((!control && piece.type != PieceType::kUserDefined) || piece.text.empty()) continue;
      AddedToken token;
      token.id = static_cast<Token>(id);
      token.content = std::string(piece.text);
      token.special = control;
      token.rstrip =
          phi3 && std::find(kPhi3Plain.begin(), kPhi3Plain.end(), piece.text) == kPhi3Plain.end();
      parts->added.push_back(std::move(token));
    }
  }

  Status find_special(TokenizerParts* parts) const {
    std::vector<bool> is_end(pieces_.size());
    const auto add_end = [&](Token id) {
      if (!is_end[id]) parts->special.ends.push_back(id);
      is_end[id] = true;
    };
    for (const char* key : {"eos_token_id", "eot_token_id", "eom_token_id"}) {
      const auto id = named(key);
      if (!id.ok()) return id.error();
      if (*id) add_end(**id);
    }
    for (size_t id = 0; id < pieces_.size(); ++id) {
      const bool ends = pieces_[id].type == PieceType::kControl &&
                        std::find(kEnds.begin(), kEnds.end(), pieces_[id].text) != kEnds.end();
      if (ends) add_end(static_cast<Token>(id));
    }
    const auto bos = named("bos_token_id");
    if (!bos.ok()) return bos.error();
    parts->special.bos = *bos;
    const Result<bool> puts_bos = flag("add_bos_token", puts_bos_);
    if (!puts_bos.ok()) return puts_bos.error();
    if (*puts_bos && *bos) parts->special.before = {**bos};
    const auto eos = named("eos_token_id");
    if (!eos.ok()) return eos.error();
    const Result<bool> puts_eos = flag("add_eos_token", false);
    if (!puts_eos.ok()) return puts_eos.error();
    if (*puts_eos && *eos) parts->special.after = {**eos};
    return {};
  }

  const GgufFile& gguf_;
  std::string file_;
  std::vector<Piece> pieces_;
  bool has_scores_ = false;
  bool puts_bos_ = false;  // unless the file says otherwise
};

}  // namespace

Result<TokenizerParts> read_gguf_vocab(const GgufFile& file) { return VocabReader(file).read(); }

}  // namespace pando
