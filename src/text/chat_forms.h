// The chat templates that are known.
#pragma once

#include <cstdint>
#include <span>

#include "text/chat_render.h"

namespace pando {

enum class Thinking { kNever, kSwitch, kAlways };
enum class Writes { kNoTokens, kBos, kEos, kBosAndEos };

struct ChatForm {
  uint64_t hash;
  const char* name;  // as in tools/chat_golden.py, which says where each is published
  Writes writes;
  Result<ChatRendering> (*render)(const ChatInput&);
  Thinking thinking = Thinking::kNever;
};

std::span<const ChatForm> chat_forms();
// Null where no template has this hash (ChatTemplate::hash).
const ChatForm* find_chat_form(uint64_t hash);

}  // namespace pando
