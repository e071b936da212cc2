#include "text/calls/harmony.h"

namespace pando::calls {
namespace {

constexpr std::string_view kStart = "<|start|>", kChannel = "<|channel|>", kMessage = "<|message|>";
constexpr std::string_view kTo = "to=";
constexpr size_t kLongestHeader = 400;

std::string_view word_at(std::string_view text) {
  return text.substr(0, text.find_first_of(" \n\t\r<"));
}

}  // namespace

CallFormat harmony_format() {
  CallFormat format;
  format.is_known = true;
  format.body = CallBody::kChannel;
  format.call_begin = " to=functions.";
  format.call_end = "<|call|>";
  format.reasoning_begin = "<|channel|>analysis<|message|>";
  format.reasoning_end = "<|end|>";
  format.text_begin = "<|channel|>final<|message|>";
  format.text_end = "<|end|>";
  format.turn_end = "<|return|>";
  return format;
}

Read read_channel_header(Scan& scan, ChannelHeader& header) {
  std::string_view text;
  const size_t begin = scan.at;
  const Read read = scan.take_until(kMessage, text);
  if (read == Read::kMore)
    return scan.text.size() - begin > kLongestHeader + kMessage.size() ? Read::kBroken : read;
  if (read == Read::kBroken || text.size() > kLongestHeader) return Read::kBroken;
  if (const size_t start = text.rfind(kStart); start != text.npos) text.remove_prefix(start);
  if (const size_t channel = text.find(kChannel); channel != text.npos)
    header.channel = word_at(text.substr(channel + kChannel.size()));
  const size_t to = text.find(kTo);
  if (to == text.npos) return Read::kDone;
  std::string_view recipient = word_at(text.substr(to + kTo.size()));
  constexpr std::string_view kFunctions = "functions.";
  if (recipient.starts_with(kFunctions)) recipient.remove_prefix(kFunctions.size());
  header.recipient = recipient;
  return Read::kDone;
}

}  // namespace pando::calls
