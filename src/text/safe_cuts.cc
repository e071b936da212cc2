#include "text/safe_cuts.h"

#include <algorithm>
#include <array>

#include "text/bpe.h"
#include "text/gguf_word_patterns.h"
#include "text/utf8.h"
#include "text/word_tokenizer.h"

namespace pando {
namespace {

namespace words = gguf_patterns;

// The two kinds of cuts. Steps see the space as `space`.
enum class CutPair { kLetterAndSpace, kIdeographAndStop };

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool all_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

constexpr std::array<std::string_view, 2> kStops = {"\uFF0C", "\u3002"};

// No normal form changes these, and every expression below counts them as letters.
bool is_cut_ideograph(std::string_view text) {
  const char32_t point = next_utf8(text).point;
  return point >= 0x4E00 && point <= 0x9FA5;
}

bool begins_with_stop(std::string_view text) {
  return std::any_of(kStops.begin(), kStops.end(),
                     [&](std::string_view stop) { return text.starts_with(stop); });
}

bool has_ideograph_or_stop(std::string_view text) {
  for (size_t at = 0; at < text.size(); at += utf8_length(text[at])) {
    if (is_cut_ideograph(text.substr(at)) || begins_with_stop(text.substr(at))) return true;
  }
  return false;
}

// How an expression treats a pair, whatever is around it. None looks from one side of the pair to
// the other.
enum class Crossing {
  kUnknown,
  kOutside,   // no match has either character: the pair lies in the text between matches
  kMaybe,     // both in one match or both between matches; or else a boundary
  kBoundary,  // always a boundary
};

struct KnownPattern {
  std::string_view expression;
  Crossing letter_and_space;
  Crossing ideograph_and_stop;
};

constexpr KnownPattern kKnown[] = {
    {R"(\s)", Crossing::kBoundary, Crossing::kOutside},
    {R"([\p{P}$+<=>^`|~])", Crossing::kOutside, Crossing::kBoundary},
    {R"([\w\x{200C}\x{200D}]+|[^\w\s\x{200C}\x{200D}]+)", Crossing::kBoundary, Crossing::kBoundary},
    {words::kNumber, Crossing::kOutside, Crossing::kOutside},
    {words::kNumbers, Crossing::kOutside, Crossing::kOutside},
    {words::kUpToThree, Crossing::kOutside, Crossing::kOutside},
    {words::kThreeAscii, Crossing::kOutside, Crossing::kOutside},
    {words::kNumberRun, Crossing::kOutside, Crossing::kOutside},
    {words::kDigitRun, Crossing::kOutside, Crossing::kOutside},
    {words::kDigitsBeforeNoWord, Crossing::kOutside, Crossing::kOutside},
    {words::kLineEnd, Crossing::kOutside, Crossing::kOutside},
    {words::kLines, Crossing::kMaybe, Crossing::kMaybe},
    {words::kNoSpaces, Crossing::kBoundary, Crossing::kMaybe},
    {words::kRunsOfSymbols, Crossing::kOutside, Crossing::kBoundary},
    {words::kRunsOfMoreSymbols, Crossing::kOutside, Crossing::kBoundary},
    {words::kJais2, Crossing::kBoundary, Crossing::kBoundary},
    {words::kMiniCpm5, Crossing::kBoundary, Crossing::kBoundary},
    {words::kQwen35, Crossing::kBoundary, Crossing::kBoundary},
    {words::kUfakzeka, Crossing::kBoundary, Crossing::kBoundary},
    {words::kSeedCoder, Crossing::kBoundary, Crossing::kBoundary},
    {words::kBailing, Crossing::kBoundary, Crossing::kBoundary},
    {words::kExaoneMoe, Crossing::kUnknown, Crossing::kBoundary},  // words of letters and spaces
    {words::kSpaceAndLetters, Crossing::kBoundary, Crossing::kBoundary},
    {words::kSpaceAndPunctuation, Crossing::kMaybe, Crossing::kBoundary},
    {words::kDeepSeekCjk, Crossing::kOutside, Crossing::kMaybe},  // has U+3002
    {words::kSpacesAtEnd, Crossing::kMaybe, Crossing::kOutside},
    {words::kHanAndKana, Crossing::kOutside, Crossing::kBoundary},
    {words::kDeepSeekV3, Crossing::kBoundary, Crossing::kBoundary},
    {words::kSpark, Crossing::kBoundary, Crossing::kBoundary},
    {words::kDeepSeekLetters, Crossing::kBoundary, Crossing::kOutside},
    {words::kDeepSeekSymbols, Crossing::kBoundary, Crossing::kBoundary},  // has ASCII letters
    {words::kAsianScripts, Crossing::kOutside, Crossing::kBoundary},
    {words::kTekken, Crossing::kBoundary, Crossing::kBoundary},
    {words::kGpt4o, Crossing::kBoundary, Crossing::kBoundary},
    {words::kYoutuScripts, Crossing::kOutside, Crossing::kBoundary},
    {words::kYoutu, Crossing::kBoundary, Crossing::kBoundary},
    {words::kKimi, Crossing::kBoundary, Crossing::kBoundary},
    {words::kBloom, Crossing::kBoundary, Crossing::kBoundary},
    {words::kSentinel, Crossing::kMaybe, Crossing::kOutside},
    {words::kImage, Crossing::kMaybe, Crossing::kOutside},
    {words::kChameleonSpaces, Crossing::kMaybe, Crossing::kOutside},
    {words::kChameleonSymbol, Crossing::kOutside, Crossing::kBoundary},
};

// Point 2 and 3 for one pair: gives false as soon as a step is not known to keep it.
class PairProof {
 public:
  explicit PairProof(CutPair pair) : pair_(pair) {}

  bool passes(const Normalizer& normalizer) {
    return std::all_of(normalizer.steps().begin(), normalizer.steps().end(),
                       [&](const NormalStep& step) { return std::visit(*this, step); });
  }
  bool passes(const PreTokenizer& words) {
    for (const PreStep& step : words.steps()) {
      if (!is_cut_ && !std::visit(*this, step)) return false;
    }
    return true;
  }
  bool is_cut() const { return is_cut_; }              // some step cuts between the two, point 4
  const std::string& space() const { return space_; }  // the space became this

  bool operator()(UnicodeForm form) const {
    return of_letter() || form == UnicodeForm::kNfc || form == UnicodeForm::kNfd;
  }
  bool operator()(const normal::Lowercase&) const { return true; }
  bool operator()(const normal::StripAccents&) const { return true; }
  bool operator()(const normal::Nmt&) const { return true; }
  bool operator()(const normal::Prepend&) const { return true; }
  bool operator()(const normal::Bert&) const { return of_letter(); }  // pads ideographs
  bool operator()(const normal::Strip&) const { return false; }
  bool operator()(const normal::FewerSpaces&) const { return false; }
  bool operator()(const normal::ReplaceMatches&) const { return false; }
  bool operator()(const normal::MapCharacters&) const { return false; }
  bool operator()(const normal::Replace& step) {
    if (!of_letter()) return all_ascii(step.from);
    if (step.from != space_) return is_outside(step.from);
    space_ = step.to;
    return space_ == kSpaceMark;
  }

  bool operator()(const pre::Split& step) {
    using Keep = pre::Split::Keep;
    const Crossing crossing = crossing_of(step.pattern);
    if (crossing == Crossing::kOutside) return true;
    const bool joins_none = step.keep == Keep::kAll || step.keep == Keep::kBetween;
    const bool literal_space = step.pattern.is_literal() && !step.invert &&
                               (step.keep == Keep::kWithNext || step.keep == Keep::kRuns);
    if (crossing == Crossing::kBoundary) return is_cut_ = joins_none || literal_space;
    return crossing == Crossing::kMaybe && step.keep == Keep::kAll;
  }
  bool operator()(const pre::Threes& step) const {
    return crossing_of(step.runs) == Crossing::kOutside;
  }
  bool operator()(const pre::SpaceBefore&) const { return of_letter() && space_ == " "; }
  bool operator()(const pre::Metaspace& step) {
    if (!of_letter()) return step.prepend != pre::Metaspace::Prepend::kAlways;
    if (space_ != " " && space_ != step.mark) return false;
    space_ = step.mark;
    is_cut_ = step.split;
    return true;
  }

 private:
  bool of_letter() const { return pair_ == CutPair::kLetterAndSpace; }
  // Says whether no occurrence of `text` has a character of the pair.
  bool is_outside(std::string_view text) const {
    return std::none_of(text.begin(), text.end(), is_ascii_letter) &&
           text.find(space_) == text.npos;
  }

  Crossing crossing_of(const SplitPattern& pattern) const {
    const std::string& source = pattern.source();
    if (pattern.is_literal()) {
      if (!of_letter()) return all_ascii(source) ? Crossing::kOutside : Crossing::kUnknown;
      if (source == space_) return Crossing::kBoundary;
      return is_outside(source) ? Crossing::kOutside : Crossing::kUnknown;
    }
    if (source == kGpt2Pattern || source == kQwen2Pattern || source == kLlama3Pattern) {
      return space_ == " " ? Crossing::kBoundary : Crossing::kUnknown;
    }
    const auto known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                    [&](const auto& entry) { return entry.expression == source; });
    if (known == std::end(kKnown)) return Crossing::kUnknown;
    if (!of_letter()) return known->ideograph_and_stop;
    const bool holds = space_ == " " || source == words::kLines;  // U+2581 is no space there
    return holds ? known->letter_and_space : Crossing::kUnknown;
  }

  CutPair pair_;
  std::string space_ = " ";
  bool is_cut_ = false;
};

// Point 1: letters that may stand before `space` at a cut. Steps may change their case.
std::bitset<128> letters_beside(std::span<const AddedToken> tokens, std::string_view space) {
  std::bitset<128> letters;
  for (size_t c = 0; c < letters.size(); ++c) letters[c] = is_ascii_letter(static_cast<char>(c));
  for (const AddedToken& token : tokens) {
    const std::string_view text = token.content;
    if (token.single_word && text.starts_with(space)) return {};
    for (size_t i = 0; i < text.size(); ++i) {
      const bool last = i + 1 == text.size() || text.substr(i + 1).starts_with(space);
      if (!last || !is_ascii_letter(text[i])) continue;
      letters.reset(static_cast<unsigned char>(text[i] | 0x20));
      letters.reset(static_cast<unsigned char>(text[i] & ~0x20));
    }
  }
  return letters;
}

bool lack_ideographs_and_stops(std::span<const AddedToken> tokens) {
  return std::none_of(tokens.begin(), tokens.end(),
                      [](const AddedToken& token) { return has_ideograph_or_stop(token.content); });
}

}  // namespace

SafeCuts::SafeCuts(const TokenizerParts& parts, std::span<const AddedToken> as_written,
                   std::span<const AddedToken> as_normalised) {
  PairProof words(CutPair::kLetterAndSpace);
  if (words.passes(parts.normalizer)) {
    letters_ = letters_beside(as_written, " ") & letters_beside(as_normalised, words.space());
    if (!words.passes(parts.pre_tokenizer)) letters_.reset();
    if (!words.is_cut()) letters_ &= ~parts.model->joined_to(words.space());
  }
  PairProof sentences(CutPair::kIdeographAndStop);
  after_ideographs_ = sentences.passes(parts.normalizer) && sentences.passes(parts.pre_tokenizer) &&
                      sentences.is_cut() && lack_ideographs_and_stops(as_written) &&
                      lack_ideographs_and_stops(as_normalised);
}

size_t SafeCuts::next(std::string_view text, size_t from) const {
  for (size_t at = std::max<size_t>(from, 1); at < text.size(); ++at) {
    const auto before = static_cast<unsigned char>(text[at - 1]);
    if (text[at] == ' ' && before < letters_.size() && letters_[before]) return at;
    if (after_ideographs_ && at >= 3 && begins_with_stop(text.substr(at)) &&
        is_cut_ideograph(last_character(text.substr(0, at)))) {
      return at;
    }
  }
  return text.size();
}

}  // namespace pando
