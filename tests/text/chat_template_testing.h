// Chat templates of tests.
#pragma once

#include <gtest/gtest.h>

#include "text/chat/chat_template.h"

namespace pando::testing::templates {

inline ChatTemplate made(std::string_view text, NamedTokens tokens = {}) {
  auto chat = ChatTemplate::from_text(text, "'file'", std::move(tokens));
  EXPECT_TRUE(chat.ok()) << chat.error().message();
  return *chat;
}

inline const std::vector<ChatMessage> kUser = {{"user", "?"}};
inline const std::vector<ChatMessage> kBlank = {{"user", ""}};  // of templates that show no message

}  // namespace pando::testing::templates
