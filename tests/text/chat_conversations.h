// Random conversations, the same here and in tools/chat_golden.py: every choice is the next
// splitmix64 of the conversation's number. Change both together.
#pragma once

#include <array>
#include <iterator>
#include <string>
#include <vector>

#include "pando/chat.h"
#include "text/unicode_strings.h"

namespace pando::testing {

struct RandomConversation {
  std::vector<ChatMessage> messages;
  bool generation_prompt;
  bool thinking;
};

class ChatDraws {
 public:
  explicit ChatDraws(uint64_t conversation) : state_(splitmix64(0x43484154 + conversation)) {}
  uint64_t below(uint64_t n) {
    state_ = splitmix64(state_);
    return (state_ >> 16) % n;
  }

 private:
  uint64_t state_;
};

// The first seven are space, the eighth only looks like it.
constexpr const char* kChatPieces[] = {" ",
                                       "\n",
                                       "\t",
                                       "\u00a0",
                                       "\u3000",
                                       "\x1c",
                                       "\r\n",
                                       "\u200b",
                                       "Hello",
                                       "Wie geht's?",
                                       "\u65e5\u672c",
                                       "\U0001F600",
                                       "a  b",
                                       "e\u0301",
                                       "[/INST]",
                                       "<|im_end|>",
                                       "{{ x }}",
                                       "<think>",
                                       "</think>",
                                       "<think>\nSo.\n</think>\n\n",
                                       "<tool_response>",
                                       "</tool_response>",
                                       "\n\n"};

inline RandomConversation random_conversation(int number) {
  ChatDraws draws(number);
  const std::array<const char*, 3> roles = {"system", "user", "assistant"};
  const bool any_order = draws.below(4) == 0;
  const bool has_system = draws.below(2) == 0;
  RandomConversation out;
  const int n = 1 + static_cast<int>(draws.below(6));
  for (int i = 0; i < n; ++i) {
    std::string role = any_order                   ? roles[draws.below(3)]
                       : has_system && i == 0      ? "system"
                       : (i - has_system) % 2 == 0 ? "user"
                                                   : "assistant";
    const bool blank = draws.below(8) == 0;
    std::string content;
    for (uint64_t left = draws.below(5); left > 0; --left)
      content += kChatPieces[draws.below(blank ? 7 : std::size(kChatPieces))];
    if (role == "system" && !blank) {  // no text is part of another
      content += "#" + std::to_string(number) + "." + std::to_string(i);
      content += kChatPieces[draws.below(8)];
    }
    out.messages.push_back({std::move(role), std::move(content)});
  }
  out.generation_prompt = draws.below(2) == 1;
  out.thinking = draws.below(2) == 1;
  return out;
}

}  // namespace pando::testing
