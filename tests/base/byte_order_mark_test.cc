// Byte-order marks of text files.
#include "base/byte_order_mark.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace pando::testing {
namespace {

using namespace std::string_view_literals;

std::string plain(std::string_view text) {
  const Result<std::string_view> found = without_mark(text);
  return found ? std::string(*found) : "refused: " + found.error().message();
}

TEST(ByteOrderMark, IsDropped) {
  EXPECT_EQ(plain("\xef\xbb\xbftext"), "text");
  EXPECT_EQ(plain("text\xef\xbb\xbf"), "text\xef\xbb\xbf");
  EXPECT_EQ(plain("\xef\xbb\xbf\xef\xbb\xbf"), "\xef\xbb\xbf") << "the second is text";
  EXPECT_EQ(plain("\xef\xbb"), "\xef\xbb");
  EXPECT_EQ(plain(""), "");
}

TEST(ByteOrderMark, OfAnotherEncodingIsNamed) {
  EXPECT_EQ(plain("\xff\xfet\0"sv), "refused: text in UTF-16, expected UTF-8");
  EXPECT_EQ(plain("\xfe\xff\0t"sv), "refused: text in UTF-16, expected UTF-8");
  EXPECT_EQ(plain("\xff\xfe\0\0t\0\0\0"sv), "refused: text in UTF-32, expected UTF-8");
  EXPECT_EQ(plain("\0\0\xfe\xff\0\0\0t"sv), "refused: text in UTF-32, expected UTF-8");
}

TEST(ByteOrderMark, IsNoPartOfJson) {
  EXPECT_EQ(*parse_json("\xef\xbb\xbf[1]"), nlohmann::json({1}));
  EXPECT_EQ(parse_json("\xff\xfe[\0]\0"sv).error().message(),
            "not JSON: text in UTF-16, expected UTF-8");
}

}  // namespace
}  // namespace pando::testing
