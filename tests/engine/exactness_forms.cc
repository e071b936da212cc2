#include "engine/exactness_forms.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/errors.h"

namespace pando::testing {
namespace {

using Texts = std::vector<std::string>;
using Rng = std::mt19937_64;

// Bytes by themselves, pieces of several, and pieces that begin or end inside a character. Those
// without a text are special tokens: the last one, and ends of the models that the cases have.
constexpr std::array<std::string_view, 64> kPieces{
    "",     "",     "",      "[",     "]",        ",",        ":",        "",        //
    "\\",   "-",    "0",     "1",     "2",        "3",        "4",        "5",       //
    "6",    "7",    "8",     "9",     "a",        "b",        "c",        "e",       //
    "f",    "l",    "n",     "r",     "s",        "t",        "u",        "\xC3",    //
    "\xA9", "\xE2", "\x82",  "\xAC",  "\xC3\xA9", "\xE2\x82", "\x82\xAC", "\xAC\"",  //
    "{\"",  "\":",  "\":\"", "\",\"", "\"}",      "true",     "fal",      "se",      //
    "null", "{",    "a\"",   "ab",    "12",       "\"a",      ",\"b",     "}",       //
    "[]",   "1}",   "\"",    "z",     "\"\xE2",   "\\\"",     "]}",       "",
};

size_t below(Rng& rng, size_t n) { return rng() % n; }
bool chance(Rng& rng, unsigned percent) { return rng() % 100 < percent; }

Texts joined(const Texts& left, const Texts& right) {
  Texts all;
  for (const std::string& a : left)
    for (const std::string& b : right) all.push_back(a + b);
  return all;
}

void append(Texts& all, Texts more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// Characters that the pieces can write.
const Texts& plain_characters() {
  static const Texts all = [] {
    Texts characters;
    for (const std::string_view piece : kPieces)
      if (piece.size() == 1 && piece != "\"" && piece != "\\" && (piece[0] & 0x80) == 0)
        characters.emplace_back(piece);
    const Texts continuations{"\xA9", "\x82", "\xAC"};
    append(characters, joined({"\xC3"}, continuations));
    append(characters, joined({"\xE2"}, joined(continuations, continuations)));
    return characters;
  }();
  return all;
}

// Holds the same inside a string of JSON that escapes only what it must.
const Texts& string_characters() {
  static const Texts all = [] {
    Texts characters = plain_characters();
    append(characters, {"\\\"", "\\\\", "\\b", "\\f", "\\n", "\\r", "\\t"});
    for (const char high : {'0', '1'})
      for (const char low : std::string_view("0123456789abcef")) {
        const int code = (high - '0') * 16 + (low <= '9' ? low - '0' : low - 'a' + 10);
        const bool is_short = code == 8 || code == 9 || code == 10 || code == 12 || code == 13;
        std::string text = "\\u00";
        text += high;
        text += low;
        if (!is_short) characters.push_back(text);
      }
    return characters;
  }();
  return all;
}

CaseForm choices(Rng& rng) {
  const Texts words{"ab",   "abc",          "a",        "b12", "true",         "false",
                    "null", "\xE2\x82\xAC", "\xC3\xA9", "se",  "1\xE2\x82\xAC"};
  Texts texts;
  for (size_t n = 1 + below(rng, 5); texts.size() < n;) {
    std::string text;
    for (size_t n_words = 1 + below(rng, 4); n_words > 0; --n_words)
      text += words[below(rng, words.size())];
    texts.push_back(text);
  }
  return CaseForm({.kind = TextForm::Kind::kChoices, .choices = texts}, texts);
}

CaseForm expression(Rng& rng) {
  std::string pattern;
  Texts texts{""};
  for (size_t n = 1 + below(rng, 4); n > 0; --n) {
    std::string part;
    Texts of_part;
    switch (below(rng, 4)) {
      case 0:
        part =
            "(ab|null|\xE2\x82\xAC"
            "1)";
        of_part = {"ab", "null",
                   "\xE2\x82\xAC"
                   "1"};
        break;
      case 1:
        part = "[0-3]";
        of_part = {"0", "1", "2", "3"};
        break;
      case 2:
        part =
            "[\xC3\xA9\xE2\x82\xAC"
            "a]";
        of_part = {"\xC3\xA9", "\xE2\x82\xAC", "a"};
        break;
      default:
        part = "(true)";
        of_part = {"true"};
    }
    const Texts one = of_part;
    if (chance(rng, 30)) {
      part += "{1,2}";
      append(of_part, joined(one, one));
    } else if (chance(rng, 30)) {
      part += "?";
      of_part.emplace_back();
    }
    pattern += part;
    texts = joined(texts, of_part);
  }
  if (std::ranges::count(texts, "") > 0) {  // an empty text has nothing to draw
    pattern += "b";
    texts = joined(texts, {"b"});
  }
  return CaseForm({.kind = TextForm::Kind::kRegex, .text = pattern}, texts);
}

struct Value {
  std::string schema;
  Texts texts;
};

Value string_of_two(const Texts& characters) {
  Texts texts{""};
  append(texts, characters);
  append(texts, joined(characters, characters));
  return {R"({"type":"string","maxLength":2})", joined({"\""}, joined(texts, {"\""}))};
}

Value small_value(Rng& rng) {
  switch (below(rng, 5)) {
    case 0:
      return {R"({"type":["boolean","null"]})", {"true", "false", "null"}};
    case 1: {
      Value value{R"({"type":"integer","minimum":-2,"maximum":12})", {"-0", "-1", "-2"}};
      for (int i = 0; i <= 12; ++i) value.texts.push_back(std::to_string(i));
      return value;
    }
    case 2:
      return {R"({"enum":["ab","a",12,"é€"]})",
              {"\"ab\"", "\"a\"", "12", "\"\xC3\xA9\xE2\x82\xAC\""}};
    case 3:
      return {R"({"type":"array","items":{"type":"boolean"},"maxItems":2})",
              {"[]", "[true]", "[false]", "[true,true]", "[true,false]", "[false,true]",
               "[false,false]"}};
    default: {
      Value value{R"({"type":"string","maxLength":1})", {"\"\""}};
      append(value.texts, joined({"\""}, joined(string_characters(), {"\""})));
      return value;
    }
  }
}

CaseForm schema(Rng& rng) {
  if (chance(rng, 20)) {
    const Value value = string_of_two(string_characters());
    return CaseForm({.kind = TextForm::Kind::kJsonSchema, .text = value.schema}, value.texts);
  }
  std::string properties, required;
  // The beginnings of all texts so far.
  Texts texts{"{"};
  const size_t n = 1 + below(rng, 2);
  for (size_t i = 0; i < n; ++i) {
    const std::string name = i == 0 ? "a" : "b12";
    const Value value = small_value(rng);
    if (i > 0) properties += ",";
    properties += "\"" + name + "\":" + value.schema;
    const bool is_required = chance(rng, 60);
    if (is_required) required += (required.empty() ? "\"" : ",\"") + name + "\"";
    Texts all;
    for (const std::string& text : texts) {
      if (!is_required) all.push_back(text);
      const std::string comma = text.size() > 1 ? "," : "";
      append(all, joined({text + comma + "\"" + name + "\":"}, value.texts));
    }
    texts = std::move(all);
  }
  std::string text = R"({"type":"object","properties":{)";
  text += properties;
  text += R"(},"required":[)";
  text += required;
  text += R"(],"additionalProperties":false})";
  return CaseForm({.kind = TextForm::Kind::kJsonSchema, .text = text}, joined(texts, {"}"}));
}

}  // namespace

Result<std::vector<Token>> CaseTokenizer::encode(std::string_view, bool) const {
  return unsupported("the cases have tokens");
}

std::string CaseTokenizer::token_bytes(Token token, bool) const {
  return token >= 0 && token <= kEnd ? std::string(kPieces[static_cast<size_t>(token)]) : "";
}

CaseForm::CaseForm(TextForm form, const std::vector<std::string>& texts)
    : form_(std::move(form)), texts_(texts.begin(), texts.end()) {
  for (const std::string& text : texts_)
    for (size_t n = 0; n < text.size(); ++n) beginnings_.insert(text.substr(0, n));
}

std::vector<bool> CaseForm::allowed_after(const std::string& text,
                                          std::span<const Token> ends) const {
  std::vector<bool> allowed(kPieces.size());
  for (size_t token = 0; token < kPieces.size(); ++token) {
    const std::string behind = text + std::string(kPieces[token]);
    allowed[token] = !kPieces[token].empty() && (goes_on(behind) || allows(behind));
  }
  if (allows(text))
    for (const Token end : ends) allowed[static_cast<size_t>(end)] = true;
  return allowed;
}

std::shared_ptr<const CaseForm> draw_form(std::mt19937_64& rng) {
  switch (below(rng, 3)) {
    case 0:
      return std::make_shared<const CaseForm>(choices(rng));
    case 1:
      return std::make_shared<const CaseForm>(expression(rng));
    default:
      return std::make_shared<const CaseForm>(schema(rng));
  }
}

}  // namespace pando::testing
