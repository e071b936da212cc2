#include "text/added_tokens.h"

#include "text_testing.h"

namespace pando::testing {
namespace {

// The tokens found, with ids in brackets: "text[id]text".
std::string found(const AddedTokens& tokens, std::string_view text) {
  std::string out;
  tokens.split(text, [&](const AddedTokens::Part& part) {
    if (part.token == nullptr) {
      out.append("(").append(part.text).append(")");
    } else {
      out += fmt::format("[{}]", part.token->id);
    }
  });
  return out;
}

AddedToken token(int id, const std::string& content) {
  AddedToken added;
  added.id = id;
  added.content = content;
  return added;
}

TEST(AddedTokens, LongestFromTheLeft) {
  const AddedTokens tokens({token(1, "<a>"), token(2, "<a><b>"), token(3, "b>"), token(4, "é")});
  EXPECT_EQ(found(tokens, ""), "");
  EXPECT_EQ(found(tokens, "x"), "(x)");
  EXPECT_EQ(found(tokens, "<a><b><a>"), "[2][1]");
  EXPECT_EQ(found(tokens, "x<a>b>y"), "(x)[1][3](y)");
  EXPECT_EQ(found(tokens, "<a<a>"), "(<a)[1]");
  EXPECT_EQ(found(tokens, "xéè"), "(x)[4](è)");
}

// Contents can become equal by normalising.
TEST(AddedTokens, EqualContents) {
  AddedToken special = token(3, "a");
  special.special = true;
  EXPECT_EQ(found(AddedTokens({token(1, "a"), token(2, "a")}), "a"), "[1]");
  EXPECT_EQ(found(AddedTokens({token(1, "a"), special, token(2, "a")}), "a"), "[3]");
}

TEST(AddedTokens, Strips) {
  AddedToken left = token(1, "<l>");
  left.lstrip = true;
  AddedToken right = token(2, "<r>");
  right.rstrip = true;
  const AddedTokens tokens({left, right});
  EXPECT_EQ(found(tokens, "a \u00A0\n<l> b"), "(a)[1]( b)");
  EXPECT_EQ(found(tokens, "a <r> \u3000\tb"), "(a )[2](b)");
  EXPECT_EQ(found(tokens, "<r>  <l>"), "[2][1]");
  EXPECT_EQ(found(tokens, "  <l>"), "[1]");
}

// If a token takes the spaces behind it, a token among these spaces is found as well.
TEST(AddedTokens, TokensInStrippedSpaces) {
  AddedToken right = token(1, "<r>");
  right.rstrip = true;
  AddedToken left = token(3, "<l>");
  left.lstrip = true;
  const AddedTokens tokens({right, token(2, "\n"), left});
  EXPECT_EQ(found(tokens, "a<r> \n b"), "(a)[1][2]( b)");
  EXPECT_EQ(found(tokens, "<r>\n\n"), "[1][2][2]");
  EXPECT_EQ(found(tokens, "<r> \n <l>b"), "[1][2][3](b)");
  AddedToken both = token(4, "  ");
  both.lstrip = both.rstrip = true;
  EXPECT_EQ(found(AddedTokens({both}), "a     b"), "(a)[4](b)");
}

TEST(AddedTokens, SingleWord) {
  AddedToken word = token(1, "ab");
  word.single_word = true;
  const AddedTokens tokens({word});
  EXPECT_EQ(found(tokens, "ab"), "[1]");
  EXPECT_EQ(found(tokens, "ab, ab."), "[1](, )[1](.)");
  EXPECT_EQ(found(tokens, "abc"), "(abc)");
  EXPECT_EQ(found(tokens, "éab ab_ 1ab"), "(éab ab_ 1ab)");
  EXPECT_EQ(found(tokens, "\u24B6ab"), "(\u24B6ab)");   // a letter in a circle
  EXPECT_EQ(found(tokens, "\u2460ab"), "(\u2460)[1]");  // a digit in a circle
}

TEST(AddedTokens, NormalisedOnesAreFoundInNormalisedText) {
  Json document = byte_level_json({}, Json::array());
  document["normalizer"] = {{"type", "NFC"}};
  Json normalised = added_token(256, "\u00E9!", false);
  normalised["normalized"] = true;
  document["added_tokens"] = Json::array({normalised, added_token(257, "\u00E8!", false)});
  const TempDirectory directory;
  directory.write_json("tokenizer.json", document);
  const auto tokenizer = load_tokenizer(directory.path());
  EXPECT_EQ(encode(*tokenizer, "e\u0301!"), (std::vector<Token>{256}));
  EXPECT_EQ(encode(*tokenizer, "\u00E8!"), (std::vector<Token>{257}));
  EXPECT_EQ(encode(*tokenizer, "e\u0300!").size(), 3u);     // written otherwise, not the token
  EXPECT_EQ(tokenizer->token_bytes(256, true), "\u00E9!");  // added, and not special
}

}  // namespace
}  // namespace pando::testing
