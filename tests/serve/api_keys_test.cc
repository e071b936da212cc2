#include "serve/api_keys.h"

#include <gtest/gtest.h>

namespace pando::serve {
namespace {

using Lines = std::vector<std::string>;

TEST(ApiKeys, LinesWithoutAKeyLetNobodyIn) {
  EXPECT_TRUE(ApiKeys::parse(Lines{})->empty()) << "no keys: everybody may ask";
  for (const Lines& lines : {Lines{""}, Lines{"# alice:0123456789abcdef", "  "}}) {
    const Result<ApiKeys> keys = ApiKeys::parse(lines);
    ASSERT_FALSE(keys.ok()) << "all of them commented out is not the same";
    EXPECT_EQ(keys.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(ApiKeys, EachHasAnIsolationKeyOfItsOwn) {
  const ApiKeys keys =
      ApiKeys::parse(Lines{"alice: 0123456789abcdef", "", "fedcba9876543210\r"}).value();
  EXPECT_EQ(keys.identify({.authorization = "Bearer 0123456789abcdef"}).value(), 1u);
  EXPECT_EQ(keys.identify({.authorization = "bearer  fedcba9876543210 "}).value(), 2u);
  for (const char* wrong : {"", "Bearer", "Bearer ", "0123456789abcdef", "Basic 0123456789abcdef",
                            "Bearer 0123456789abcde", "Bearer alice:0123456789abcdef"})
    EXPECT_FALSE(keys.identify({.authorization = wrong})) << wrong;
}

TEST(ApiKeys, ComeInOneOfThreeHeaders) {
  const ApiKeys keys = ApiKeys::parse(Lines{"0123456789abcdef", "fedcba9876543210"}).value();
  EXPECT_EQ(keys.identify({.x_api_key = "fedcba9876543210"}).value(), 2u);
  EXPECT_EQ(keys.identify({.api_key = " fedcba9876543210"}).value(), 2u);
  EXPECT_EQ(keys.identify({.authorization = "Basic dTpw", .x_api_key = "fedcba9876543210"}).value(),
            2u);
  EXPECT_EQ(keys.identify({.authorization = "Bearer fedcba9876543210",
                           .x_api_key = "fedcba9876543210",
                           .api_key = "fedcba9876543210"})
                .value(),
            2u);
  const auto message = [&](const KeyHeaders& headers) {
    return keys.identify(headers).error().message();
  };
  EXPECT_EQ(message({.x_api_key = "0123456789abcdef", .api_key = "fedcba9876543210"}),
            "the headers have different API keys, expected one key");
  EXPECT_EQ(message({.x_api_key = "Bearer 0123456789abcdef"}), "the API key is not known");
  EXPECT_EQ(message({}),
            "no API key was sent, expected 'Authorization: Bearer KEY' or 'X-Api-Key: KEY'");
  EXPECT_EQ(message({.authorization = "Basic dTpw"}),
            "the Authorization header has no 'Bearer', expected 'Authorization: Bearer KEY' or "
            "'X-Api-Key: KEY'");
}

TEST(ApiKeys, NamesAreWordsOfTheLog) {
  const ApiKeys keys =
      ApiKeys::parse(Lines{"alice: 0123456789abcdef", "fedcba9876543210", ": 00112233445566778899"})
          .value();
  EXPECT_EQ(keys.name_of(1), "alice");
  for (const uint64_t nobody : {0, 2, 3, 4}) EXPECT_EQ(keys.name_of(nobody), "") << nobody;
  for (const char* wrong : {"two words:0123456789abcdef", "\xc3\xa4:0123456789abcdef"})
    EXPECT_EQ(ApiKeys::parse(Lines{wrong}).error().message(),
              "the API key in line 1 has a name that is not 1 to 128 visible ASCII characters");
}

}  // namespace
}  // namespace pando::serve
