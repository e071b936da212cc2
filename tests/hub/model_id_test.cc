#include "hub/model_id.h"

#include <gtest/gtest.h>

namespace pando::hub {
namespace {

TEST(ModelId, IsReadInThreeForms) {
  const auto plain = parse_model_id("Qwen/Qwen3-0.6B");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->organisation, "Qwen");
  EXPECT_EQ(plain->name, "Qwen3-0.6B");
  EXPECT_EQ(plain->choice, "");
  EXPECT_EQ(parse_model_id("a/b:Q4_K_M")->choice, "Q4_K_M");
  EXPECT_EQ(parse_model_id("a/b:q4/x.gguf")->choice, "q4/x.gguf");
  EXPECT_EQ(parse_model_id("a/b/x.gguf")->choice, "x.gguf");
  EXPECT_EQ(parse_model_id("a/b/x.gguf")->text(), "a/b:x.gguf");
  EXPECT_TRUE(parse_model_id("a/b:x.gguf")->names_file());
  EXPECT_FALSE(parse_model_id("a/b:Q8_0")->names_file());
}

TEST(ModelId, OtherTextsAreNone) {
  for (const char* text : {"",
                           "a",
                           "a/",
                           "/b",
                           "a/b/",
                           "a/b/c",
                           "../b",
                           "a/..",
                           "./b",
                           "a/b:",
                           "a/b:../x.gguf",
                           "a/b:/x.gguf",
                           "a/b:Q4/K",
                           "a/b/../x.gguf",
                           "a b/c",
                           "a/b--c",
                           "a--b/c",
                           "a/-b",
                           "a/b\n",
                           "a/b:x\\y.gguf",
                           "http://a/b",
                           "a/b/c/x.gguf"})
    EXPECT_FALSE(parse_model_id(text)) << text;
  EXPECT_FALSE(parse_model_id("a/" + std::string(95, 'b')));
  EXPECT_TRUE(parse_model_id("a/" + std::string(94, 'b')));
}

TEST(ModelId, SafeNamesStayInTheirFolder) {
  for (const char* name : {"a", "a/b.json", ".gitattributes", "a/..b", "a b"})
    EXPECT_TRUE(is_safe_name(name)) << name;
  for (const char* name : {"", "/a", "a//b", "a/", "..", "../a", "a/../b", "a/.", "a\\b", "a\nb"})
    EXPECT_FALSE(is_safe_name(name)) << name;
  EXPECT_FALSE(is_safe_name(std::string_view("a\0b", 3)));
  EXPECT_FALSE(is_safe_name(std::string(256, 'a')));
}

TEST(ModelId, RevisionsAreBranchesTagsAndCommits) {
  for (const char* text : {"main", "v1.0", "refs/pr/1", "0123456789abcdef"})
    EXPECT_TRUE(is_revision(text)) << text;
  for (const char* text : {"", "../main", "/main", "a b", "a..b", "a?b"})
    EXPECT_FALSE(is_revision(text)) << text;
  EXPECT_TRUE(is_commit(std::string(40, 'a')));
  EXPECT_FALSE(is_commit(std::string(40, 'g')));
  EXPECT_FALSE(is_commit(std::string(39, 'a')));
}

TEST(ModelId, UrlsAreEncoded) {
  EXPECT_EQ(url_encoded("refs/pr/1"), "refs%2Fpr%2F1");
  EXPECT_EQ(url_encoded("a b/c#?%.json", "/"), "a%20b/c%23%3F%25.json");
}

}  // namespace
}  // namespace pando::hub
