// Places of a chat body, told as those of the body that it was made of.
#include "ask/door_fields.h"

#include <gtest/gtest.h>

#include "base/errors.h"

namespace pando::ask {
namespace {

// Neighbours that became one message, so that later ones have other numbers.
ChatDraft merged() {
  ChatDraft draft;
  draft.set_origin("messages", "input");
  for (size_t i = 3; i < 12; ++i)
    draft.set_origin(place_in("messages", i), place_in("input", i + 1));
  draft.set_origin("messages[3].content", "input[4].output");
  draft.set_origin("tools[0].function", "tools[0]");
  return draft;
}

TEST(DoorFields, APlaceIsThatOfItsNearestPart) {
  const ChatDraft draft = merged();
  EXPECT_EQ(draft.origin_of("messages"), "input");
  EXPECT_EQ(draft.origin_of("messages[1].role"), "input[1].role");
  EXPECT_EQ(draft.origin_of("messages[3].content[2].text"), "input[4].output[2].text");
  EXPECT_EQ(draft.origin_of("messages[3].contents"), "input[4].contents");
  EXPECT_EQ(draft.origin_of("tools[0].function.name"), "tools[0].name");
  EXPECT_EQ(draft.origin_of("tools[1].function.name"), "tools[1].function.name");
  EXPECT_EQ(draft.origin_of(""), "");
}

TEST(DoorFields, TextsAreToldOnce) {
  Error error;
  error.place.field = "messages[4]";
  error.found = "message 3 and message 11, message 20";
  error.expected = "it's not 'messages[3]' or 'messages[4].role' but 'x'";
  error.hint = "a message, 'messages[10]', 'tools[0].function.name";
  error = merged().translated(std::move(error));
  EXPECT_EQ(error.place.field, "input[5]");
  EXPECT_EQ(error.found, "input[4] and input[12], message 20");
  EXPECT_EQ(error.expected, "it's not 'input[4]' or 'input[5].role' but 'x'");
  EXPECT_EQ(error.hint, "a message, 'input[11]', 'tools[0].function.name");
}

TEST(DoorFields, ATextMayBeginWithItsField) {
  ChatDraft draft;
  draft.set_origin("top_k", "options.k");
  const Error error = draft.translated(blame("top_k", invalid_argument("top_k is -5")));
  EXPECT_EQ(error.message(), "options.k is -5");
  EXPECT_EQ(draft.translated(blame("n", invalid_argument("n is 0"))).message(), "n is 0");
}

constexpr DoorField kFields[] = {{"length", "max_tokens"}, {"mode", "", "0"}, {"own"}, {"part"}};

TEST(DoorFields, ABodyIsCopiedByItsTable) {
  ChatDraft draft;
  const Json body = {{"length", 5}, {"mode", 0.0},     {"own", 1},
                     {"top_k", 2},  {"sharing", true}, {"none", nullptr}};
  ASSERT_TRUE(draft.copy(body, kFields).ok());
  EXPECT_EQ(json_text(draft.chat), R"({"max_tokens":5,"top_k":2,"sharing":true})");
  EXPECT_EQ(draft.origin_of("max_tokens"), "length");
  EXPECT_EQ(draft.origin_of("top_k"), "top_k");
}

TEST(DoorFields, APartHasSamplingOptionsToo) {
  ChatDraft draft;
  ASSERT_TRUE(draft.copy("part", {{"length", 5}, {"top_k", 2}}, kFields).ok());
  EXPECT_EQ(json_text(draft.chat), R"({"max_tokens":5,"top_k":2})");
  EXPECT_EQ(draft.origin_of("max_tokens"), "part.length");
  EXPECT_EQ(draft.origin_of("top_k"), "part.top_k");
  EXPECT_EQ(draft.copy("part", {{"sharing", true}}, kFields).error().place.field, "part.sharing");
  EXPECT_EQ(draft.copy("part", Json::array(), kFields).error().place.field, "part");
}

TEST(DoorFields, OtherFieldsAndValuesAreRefused) {
  ChatDraft draft;
  const Status unknown = draft.copy({{"lenght", 5}}, kFields);
  ASSERT_FALSE(unknown.ok());
  EXPECT_TRUE(is_unknown_field(unknown.error()));
  EXPECT_EQ(unknown.error().hint, "'length'?");
  const Status fixed = draft.copy({{"mode", 2}}, kFields);
  ASSERT_FALSE(fixed.ok());
  EXPECT_EQ(fixed.error().place.field, "mode");
  EXPECT_FALSE(is_unknown_field(fixed.error()));
}

TEST(DoorFields, NegativeNumbersAskForNothing) {
  ChatDraft draft;
  draft.chat = {{"a", -1}, {"b", 0}, {"c", "x"}};
  for (const char* name : {"a", "b", "c", "d"}) draft.drop_negative(name);
  EXPECT_EQ(json_text(draft.chat), R"({"b":0,"c":"x"})");
}

}  // namespace
}  // namespace pando::ask
