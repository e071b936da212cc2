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
  EXPECT_EQ(keys.identify("Bearer 0123456789abcdef"), 1u);
  EXPECT_EQ(keys.identify("bearer  fedcba9876543210 "), 2u);
  for (const char* wrong : {"", "Bearer", "Bearer ", "0123456789abcdef", "Basic 0123456789abcdef",
                            "Bearer 0123456789abcde", "Bearer alice:0123456789abcdef"})
    EXPECT_EQ(keys.identify(wrong), std::nullopt) << wrong;
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
