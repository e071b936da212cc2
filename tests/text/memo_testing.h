// Texts of awkward pieces that begin alike, and tokenizers to encode them.
#pragma once

#include "choices.h"
#include "steps_testing.h"
#include "text/utf8.h"

namespace pando::testing {

// Every part of a text is remembered as soon as a cut ends it.
inline TextMemoLimits eager_limits() {
  TextMemoLimits limits;
  limits.least_bytes = 1;
  limits.part_bytes = 1;
  limits.most_texts = 8;
  return limits;
}

inline TextMemoLimits no_memo() {
  TextMemoLimits limits;
  limits.most_bytes = 0;
  return limits;
}

// Texts that a tokenizer treats in a way of its own: special tokens, their beginnings, some tokens.
inline std::vector<std::string> own_pieces(const Tokenizer& tokenizer, Choices& choices) {
  std::vector<std::string> pieces;
  for (Token id = 0; id < tokenizer.vocab_size() && pieces.size() < 40; ++id) {
    const std::string text = tokenizer.token_bytes(id, /*skip_special=*/false);
    if (!text.empty() && tokenizer.token_bytes(id, /*skip_special=*/true).empty())
      pieces.push_back(text);
  }
  for (int i = 0; i < 40; ++i) {
    const auto id = static_cast<Token>(choices.below(static_cast<size_t>(tokenizer.vocab_size())));
    pieces.push_back(tokenizer.token_bytes(id, /*skip_special=*/false));
  }
  std::erase_if(pieces,
                [](const std::string& text) { return text.empty() || find_invalid_utf8(text); });
  return pieces;
}

class AwkwardTexts {
 public:
  AwkwardTexts(uint32_t seed, const Tokenizer& tokenizer)
      : choices_(seed), own_(own_pieces(tokenizer, choices_)) {}

  void add_own(const std::string& piece) { own_.push_back(piece); }

  // Begins like an earlier text, mostly.
  std::string next() {
    std::string text;
    if (!texts_.empty() && choices_.below(8) != 0) {
      const size_t n_back = 1 + choices_.below(std::min<size_t>(texts_.size(), 6));
      const std::string& earlier = texts_[texts_.size() - n_back];
      const size_t least = choices_.below(4) == 0 ? 0 : earlier.size() / 2;
      text = earlier.substr(0, least + choices_.below(earlier.size() - least + 1));
      if (text.size() < earlier.size() && !begins_character(earlier[text.size()])) {
        finish_character(earlier, &text);
      }
    }
    for (size_t n = 1 + choices_.below(texts_.empty() ? 60 : 16); n > 0; --n) append_piece(&text);
    texts_.push_back(text);
    return text;
  }

 private:
  // Another character with the same first bytes.
  void finish_character(const std::string& earlier, std::string* text) {
    size_t begin = text->size();
    while (!begins_character(earlier[begin])) --begin;
    std::string character = earlier.substr(begin, utf8_length(earlier[begin]));
    character.back() = static_cast<char>(character.back() ^ 1);
    text->replace(begin, text->npos, character);
  }

  void append_piece(std::string* text) {
    static const std::vector<std::string> kPieces = {" ",
                                                     " ",
                                                     " ",
                                                     " ",
                                                     " ",
                                                     "  ",
                                                     "    ",
                                                     "\n",
                                                     "\n\n",
                                                     " \n",
                                                     "\r\n",
                                                     "\t",
                                                     "\u00A0",
                                                     "\u3000",
                                                     "a",
                                                     "B",
                                                     "the",
                                                     " of",
                                                     " and",
                                                     "Word",
                                                     "ing",
                                                     "x y",
                                                     "SHOUT",
                                                     "s",
                                                     "t",
                                                     "re",
                                                     "1",
                                                     "12",
                                                     "123",
                                                     "1234567",
                                                     "3.14",
                                                     "1,000",
                                                     "'",
                                                     "'s",
                                                     "'ll",
                                                     "'S",
                                                     "\u2019s",
                                                     ".",
                                                     ",",
                                                     "!",
                                                     "?!",
                                                     "...",
                                                     ":",
                                                     "(",
                                                     ")",
                                                     "/",
                                                     "//",
                                                     "<",
                                                     ">",
                                                     "|",
                                                     "_",
                                                     "-",
                                                     "\"",
                                                     "``",
                                                     "''",
                                                     "<|",
                                                     "|>",
                                                     "<|im_start|>",
                                                     "<|im_end|>",
                                                     "<|im_",
                                                     "<s>",
                                                     "</s>",
                                                     "<s",
                                                     "<pad>",
                                                     "[INST]",
                                                     "<|endoftext|>",
                                                     "<|eot_id|>",
                                                     "<unk>",
                                                     "[MASK]",
                                                     "\u4E2D",
                                                     "\u4E2D\u6587",
                                                     "\u6587\u3002",
                                                     "\u4E2D\uFF0C\u6587",
                                                     "\uFF0C",
                                                     "\u3002",
                                                     "\u3001",
                                                     "\u3002\n",
                                                     "\u3005",
                                                     "\u3042\u3044",
                                                     "\u30AB",
                                                     "\uAC00\uB098",
                                                     "\u1100",
                                                     "\u1161",
                                                     "\u0301",
                                                     "e\u0301",
                                                     "a\u0308\u0304",
                                                     "n\u0303",
                                                     "\u00E9",
                                                     "\u00FC",
                                                     "\u212B",
                                                     "\uFB01",
                                                     "\u0130",
                                                     "\u03A3",
                                                     "\u0627\u0644",
                                                     "\u05D0",
                                                     "\u0928\u093F",
                                                     "\u0E01\u0E33",
                                                     "\u200D",
                                                     "\u200B",
                                                     "\uFE0F",
                                                     "\U0001F468\u200D\U0001F469\u200D\U0001F467",
                                                     "\U0001F44D\U0001F3FD",
                                                     "\U0001F1E9\U0001F1EA",
                                                     "\u2581",
                                                     "\u2581a",
                                                     "a\u2581",
                                                     "\uFEFF",
                                                     std::string(1, '\0'),
                                                     "IMGIMG",
                                                     "<sentinel:12>"};
    switch (choices_.below(14)) {
      case 0: {
        for (size_t n = 1 + choices_.below(9); n > 0; --n)
          *text += static_cast<char>('a' + choices_.below(26));
        return;
      }
      case 1:
        if (choices_.below(40) == 0) text->append(300, "ax1 \n"[choices_.below(5)]);
        return;
      case 2:
      case 3: {
        if (own_.empty()) return;
        const std::string& own = own_[choices_.below(own_.size())];
        size_t n = choices_.below(2) == 0 ? own.size() : choices_.below(own.size() + 1);
        while (n < own.size() && !begins_character(own[n])) ++n;
        *text += own.substr(0, n);
        return;
      }
      case 4:
      case 5:
        *text += std::string("word to X of A 12 end,")
                     .substr(choices_.below(12), 1 + choices_.below(10));
        return;
      case 6:
        *text += choices_.below(2) == 0 ? "\u4E2D\u6587\uFF0C\u6587" : "\u6587\u3002\u6587";
        return;
      default:
        *text += kPieces[choices_.below(kPieces.size())];
    }
  }

  Choices choices_;
  std::vector<std::string> own_;
  std::vector<std::string> texts_;
};

inline bool is_slow() { return std::getenv("PANDO_SLOW_TESTS") != nullptr; }

// Compares the tokens of `n` texts with and without the memo. Returns the bytes that were
// remembered.
inline size_t expect_same_tokens(const std::string& name, Tokenizer& tokenizer, size_t n,
                                 const std::vector<std::string>& pieces = {}) {
  SCOPED_TRACE(name);
  AwkwardTexts texts(static_cast<uint32_t>(std::hash<std::string>()(name)), tokenizer);
  for (const std::string& piece : pieces) texts.add_own(piece);
  TextMemoLimits limits = eager_limits();
  size_t n_bytes = 0, n_encoded = 0;
  for (size_t i = 0; i < n; ++i) {
    const std::string text = texts.next();
    tokenizer.set_memo_limits(no_memo());
    const auto expected = tokenizer.encode(text, true);
    limits.part_bytes = i % 3 == 0 ? 1 : 24;
    tokenizer.set_memo_limits(limits);
    const size_t before = tokenizer.n_bytes_encoded();
    const auto found = tokenizer.encode(text, true);
    n_encoded += tokenizer.n_bytes_encoded() - before;
    n_bytes += text.size();
    EXPECT_EQ(found.ok(), expected.ok()) << text;
    if (!found.ok() || !expected.ok() || *found == *expected) continue;
    ADD_FAILURE() << Json(text).dump() << "\n"
                  << ::testing::PrintToString(*found) << "\n"
                  << ::testing::PrintToString(*expected);
    break;
  }
  return n_bytes - std::min(n_bytes, n_encoded);
}

inline std::vector<std::string> added_texts(const Json& document) {
  std::vector<std::string> texts;
  for (const Json& token : document.value("added_tokens", Json::array()))
    texts.push_back(token["content"]);
  return texts;
}

}  // namespace pando::testing
