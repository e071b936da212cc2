#include "base/json.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>
#include <string>

namespace pando {
namespace {

Json parsed(std::string_view text) {
  Result<Json> value = parse_json(text);
  EXPECT_TRUE(value.ok()) << text << ": " << value.error().message();
  return value.ok() ? *std::move(value) : Json();
}

std::string refused(std::string_view text) {
  const Result<Json> value = parse_json(text);
  EXPECT_FALSE(value.ok()) << text;
  if (value.ok()) return {};
  EXPECT_EQ(value.error().code, ErrorCode::kBadFile);
  return value.error().message();
}

std::string repeated(std::string_view text, size_t n) {
  std::string out;
  for (size_t i = 0; i < n; ++i) out += text;
  return out;
}

TEST(JsonTest, NulIsNoEndOfText) {
  using namespace std::string_view_literals;
  for (const std::string_view text : {"{}\0"sv, "{\0}"sv, "\0{}"sv, "{}\0{}"sv, "\0"sv})
    EXPECT_TRUE(refused(text).ends_with("is NUL")) << text;
  EXPECT_EQ(refused("{}\0"sv), "not JSON: byte 3 is NUL");
}

TEST(JsonTest, LargeWholeNumbersKeepTheirDigits) {
  const std::string text =
      R"({"a":[123456789012345678901234567890,-18446744073709551617,1.5,"x\"y"],"b":{"c":1e30},"d":[],"e":{}})";
  const Result<Json> value = parse_json(text, LargeNumbers::kKept);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(json_text(*value).substr(0, 60), text.substr(0, 60));
  EXPECT_EQ(Json::parse(json_text(*value)), Json::parse(text));
  EXPECT_EQ(kept_digits((*value)["a"][1]), "-18446744073709551617");
  EXPECT_EQ(kept_digits((*value)["a"][2]), "");
  EXPECT_EQ(found_text((*value)["a"][0]), "123456789012345678901234567890");
  EXPECT_TRUE(parsed(text)["a"][0].is_number_float());
}

TEST(JsonTest, KeepsTheOrderOfKeys) {
  const std::string text = R"({"z":1,"a":[{"c":2,"b":123456789012345678901234567890}],"m":{}})";
  const auto kept = parse_json(text, LargeNumbers::kKept);
  ASSERT_TRUE(kept.ok()) << kept.error().message();
  EXPECT_EQ(json_text(*kept), text);
  EXPECT_EQ(kept_digits((*kept)["a"][0]["b"]), "123456789012345678901234567890");
  EXPECT_TRUE((*parse_json(text))["a"][0]["b"].is_number_float());
  EXPECT_EQ(parse_json(R"({"a":{"b":1,"c":2,"b":3}})").error().message(),
            "'b' appears twice in 'a', expected once");
  EXPECT_EQ(parse_json("{\"a\":").error().message().substr(0, 8), "not JSON");
}

TEST(JsonTest, SortsMembers) {
  const std::string text = R"({"z":1,"a":[{"c":2.0,"b":123456789012345678901234567890}],"m":{}})";
  EXPECT_EQ(json_text(sorted_json(*parse_json(text, LargeNumbers::kKept))),
            R"({"a":[{"b":123456789012345678901234567890,"c":2.0}],"m":{},"z":1})");
}

TEST(JsonTest, ParsesAreCounted) {
  const uint64_t before = n_parsed_json();
  parsed("[1]");
  refused("[");
  EXPECT_EQ(n_parsed_json(), before + 2);
}

TEST(JsonTest, OrderedTakesLinearTime) {
  std::string object = "{\"k\":0";
  for (int i = 0; i < 200000; ++i) object += fmt::format(",\"k{}\":[{{}}]", i);
  const clock_t begin = clock();
  const auto value = parse_json(object + "}");
  EXPECT_LT(static_cast<double>(clock() - begin) / CLOCKS_PER_SEC, 4);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->size(), 200001u);
}

TEST(JsonTest, ReadsWhatTheLibraryReads) {
  for (const char* text :
       {"null", "true", "-1", "18446744073709551615", "2.5e-3", "\"\\u00e9\\ud83d\\ude00\"", "[]",
        "{}", "[[],{},[{}]]", R"({"a":{"b":[1,{"c":null}],"d":"e"},"f":[false]})"})
    EXPECT_EQ(parsed(text), Json::parse(text)) << text;
  EXPECT_TRUE(parsed("-1").is_number_integer());
  EXPECT_TRUE(parsed("1").is_number_unsigned());
  EXPECT_EQ(parsed("\xef\xbb\xbf {\"a\": 1}\r"), Json({{"a", 1}}));
  // Written by the transformers library where a length has no limit.
  EXPECT_EQ(parsed("1000000000000000019884624838656"), Json(1e30));
}

TEST(JsonTest, NamesWhatIsWrongAndWhere) {
  EXPECT_TRUE(refused("{\"a\": 1,\n \"b\": }")
                  .starts_with("not JSON: parse error at line 2, column 7: syntax error while "
                               "parsing value - unexpected '}'"));
  for (const char* text : {"",
                           " ",
                           "{",
                           "[1,]",
                           "[1",
                           "{\"a\"}",
                           "{'a': 1}",
                           "nul",
                           "[1] 2",
                           "\xef\xbb",
                           "\xef\xbb\xbf",
                           "NaN",
                           "[Infinity]",
                           "01",
                           "\"\t\"",
                           "\"a",
                           "1e999",
                           "[-1e999]",
                           "\"\xff\"",
                           "\"\xc0\x80\"",
                           "\"\xed\xa0\x80\"",
                           "{\"\xf4\x90\x80\x80\": 1}",
                           "\"\\ud800\"",
                           "\"\\ud800\\u0041\""})
    EXPECT_TRUE(refused(text).starts_with("not JSON: ")) << text;
  EXPECT_TRUE(refused(std::string("[1\0]", 4)).starts_with("not JSON: "));
  EXPECT_LT(refused(fmt::format("[\"{}\xff\"]", std::string(1'000'000, 'x'))).size(), 300u);
}

TEST(JsonTest, KeysAreThereOnce) {
  EXPECT_EQ(refused(R"({"a":1,"a":1})"), "'a' appears twice, expected once");
  EXPECT_EQ(refused(R"({"a":{"b":[0,{"c":1,"d":2,"c":3}]}})"),
            "'c' appears twice in 'a.b[1]', expected once");
  EXPECT_EQ(refused(R"({"a":1,"\u0061":1})"), "'a' appears twice, expected once");
  EXPECT_EQ(parsed(R"([{"a":1},{"a":1,"b":{"a":1}}])").size(), 2u);
  EXPECT_LT(refused(fmt::format(R"({{"{0}":1,"{0}":1}})", std::string(100'000, 'k'))).size(), 200u);
}

TEST(JsonTest, NestingHasALimit) {
  const auto nested = [](std::string_view open, std::string_view close, size_t n) {
    return repeated(open, n) + "0" + repeated(close, n);
  };
  parsed(nested("[", "]", kDeepestJson));
  parsed(nested("{\"a\":", "}", kDeepestJson));
  EXPECT_TRUE(refused(nested("[", "]", kDeepestJson + 1))
                  .starts_with("nested deeper than 64 levels in '[0][0]"));
  EXPECT_TRUE(refused(nested("{\"a\":", "}", kDeepestJson + 1))
                  .starts_with("nested deeper than 64 levels in 'a.a.a"));
  refused(repeated("[", 10'000'000));
}

// Each of these took minutes or hours where time is quadratic.
TEST(JsonTest, TimeIsLinear) {
  const std::clock_t start = std::clock();
  EXPECT_EQ(parsed(fmt::format("[{}0]", repeated("{\"a\":[{}]},", 200'000))).size(), 200'001u);
  std::string keys = "{";
  for (int i = 0; i < 200'000; ++i) keys += fmt::format("\"k{}\":{{}},", i);
  EXPECT_EQ(parsed(keys + "\"end\":0}").size(), 200'001u);
  refused(keys + "\"k7\":0}");
  EXPECT_EQ(parsed(fmt::format("[\"{}\"]", std::string(50'000'000, 'x')))[0]
                .get_ref<std::string&>()
                .size(),
            50'000'000u);
  EXPECT_LT((std::clock() - start) / CLOCKS_PER_SEC, 30);  // of processor time
}

}  // namespace
}  // namespace pando
