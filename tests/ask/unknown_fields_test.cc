// Fields that a server leaves out of a body, by the error that refuses them.
#include "ask/unknown_fields.h"

#include <gtest/gtest.h>

#include "base/errors.h"
#include "base/fields.h"

namespace pando::ask {
namespace {

Error unknown(const std::string& place) { return invalid_field(place, "is unknown"); }

TEST(UnknownFields, AreRemovedAtTheirPlace) {
  Json body = Json::parse(R"({"a": 1, "list": [{"b": 2, "c": {"d": 3}}, {"b": 4}], "e.f": 5})");
  EXPECT_EQ(remove_unknown_field(body, unknown("a")), "a");
  EXPECT_EQ(remove_unknown_field(body, unknown("list[0].c.d")), "list[0].c.d");
  EXPECT_EQ(remove_unknown_field(body, unknown("list[1].b")), "list[1].b");
  EXPECT_EQ(remove_unknown_field(body, unknown("e.f")), "e.f");
  EXPECT_EQ(json_text(body), R"({"list":[{"b":2,"c":{}},{}]})");
}

TEST(UnknownFields, OtherErrorsRemoveNothing) {
  Json body = {{"a", 1}, {"list", {1, 2}}};
  for (const char* place : {"b", "a.b", "list[2].b", "list[0]", "list[x].b", "list[", ""})
    EXPECT_EQ(remove_unknown_field(body, unknown(place)), "") << place;
  EXPECT_EQ(remove_unknown_field(body, invalid_field("a", "is 1, expected 2")), "");
  EXPECT_EQ(body.size(), 2u);
}

TEST(UnknownFields, ErrorsOfFieldsAreRecognised) {
  const Json object = {{"known", 1}, {"mood", 2}};
  Fields fields(object);
  fields.only(std::initializer_list<std::string_view>{"known"});
  EXPECT_TRUE(is_unknown_field(fields.status().error()));
}

TEST(UnknownFields, AHeaderGetsVisibleCharacters) {
  EXPECT_EQ(header_word("messages[2].mood"), "messages[2].mood");
  EXPECT_EQ(header_word("a, b\r\n\xc3\xa4%"), "a%2C%20b%0D%0A%C3%A4%25");
  EXPECT_EQ(header_word(std::string(1000, 'x')).size(), 128u);
}

}  // namespace
}  // namespace pando::ask
