// Conversations through every known chat template. The input is messages with a zero byte between;
// the first byte of a message chooses its role.
#include "fuzz/fuzz.h"
#include "text/chat_forms.h"

using namespace pando;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view text = fuzz::text_of(data, size);
  if (find_invalid_utf8(text)) return 0;
  static constexpr std::string_view kRoles[] = {"user", "assistant", "system"};
  std::vector<ChatMessage> messages;
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(text.size(), piece.size() + 1));
    if (piece.empty() || (piece[0] & 0x80) != 0) continue;
    messages.push_back({std::string(kRoles[piece[0] % 3]), std::string(piece.substr(1))});
  }
  if (messages.empty()) return 0;
  for (const bool thinking : {false, true}) {
    const ChatOptions options{.thinking = thinking};
    for (const ChatForm& form : chat_forms()) {
      const auto rendered = form.render({messages, options, "<s>", "</s>"});
      if (!rendered)
        fuzz::check_error(rendered.error());
      else
        fuzz::demand(!find_invalid_utf8(rendered->text), "a prompt that is not UTF-8");
    }
  }
  return 0;
}
