// Takes a mark, a call or the header of a message from a stream.
#include <utility>

#include "text/calls/call_parser.h"
#include "text/calls/harmony.h"

namespace pando::calls {
namespace {

// Takes the line that begins a code fence.
Read take_fence(Scan& scan) {
  constexpr size_t kLongestLanguage = 32;
  if (const Read read = scan.take(kCodeFence); read != Read::kDone) return read;
  const size_t end = scan.text.find('\n', scan.at);
  if (end == scan.text.npos)
    return scan.text.size() - scan.at > kLongestLanguage ? Read::kBroken : scan.ended();
  if (end - scan.at > kLongestLanguage) return Read::kBroken;
  scan.at = end;
  return Read::kDone;
}

}  // namespace

Read CallParser::take(const Mark& mark) {
  if (mark.use == MarkUse::kChannel) return take_channel();
  if (mark.use == MarkUse::kTurnEnd) return take_turn_end(mark);
  if (mark.use == MarkUse::kSection || mark.use == MarkUse::kCall || mark.use == MarkUse::kCommon)
    return take_call(mark);
  Scan scan = scan_held();
  if (const Read read = scan.take(mark.text); read != Read::kDone) return read;
  advance(scan.at);
  begin_part(mark.use == MarkUse::kReasoningBegin ? State::kReasoning : State::kText);
  return Read::kDone;
}

Read CallParser::take_call(const Mark& mark) {
  Scan scan = scan_held();
  if (const Read read = scan.take(mark.text); read != Read::kDone) return read;
  const bool is_common = mark.use == MarkUse::kCommon;
  if (format_.is_list || is_common || format_.body == CallBody::kObject) {
    scan.skip_space();
    if (scan.at_end()) return scan.ended();
    if (scan.next() == '[') ++scan.at;
  }
  if (mark.use == MarkUse::kSection)
    if (const Read read = scan.take(format_.call_begin); read != Read::kDone) return read;
  ReadCall call;
  Read read = Read::kDone;
  if (!is_common) {
    read = read_call(format_, tools_, scan, call);
  } else {
    read = read_object_call(format_, tools_, Names::kOffered, scan, call);
    if (read == Read::kBroken) read = read_pythonic_call(tools_, Names::kOffered, scan, call);
  }
  if (read != Read::kDone) return read;
  advance(scan.at);
  by_format_ = !is_common;
  emit_call(std::move(call));
  return read;
}

Read CallParser::take_channel() {
  Scan scan = scan_held();
  ChannelHeader header;
  if (const Read read = read_channel_header(scan, header); read != Read::kDone) return read;
  if (header.recipient.empty()) {
    advance(scan.at);
    begin_part(header.channel == "analysis" ? State::kReasoning : State::kText);
    return Read::kDone;
  }
  ReadCall call;
  call.name = header.recipient;
  const size_t header_end = scan.at;
  scan.skip_space();
  const size_t begin = scan.at;
  const Read read = skip_json(scan);
  if (read == Read::kMore) return read;
  std::optional<std::string> arguments;
  if (read == Read::kDone) arguments = object_text(scan.text.substr(begin, scan.at - begin));
  if (!arguments || !is_call_name(call.name) || tools_.empty() || !tools_.may_call(call.name)) {
    emit_until(AnswerEvent::Kind::kText,
               header_end);  // with the header, so nothing of the call is lost
    return Read::kDone;
  }
  call.arguments = *std::move(arguments);
  advance(scan.at);
  by_format_ = true;
  emit_call(std::move(call));
  return Read::kDone;
}

Read CallParser::take_turn_end(const Mark& mark) {
  Scan scan = scan_held();
  if (const Read read = scan.take(mark.text); read != Read::kDone) return read;
  scan.skip_space();
  if (!scan.at_end()) return Read::kBroken;
  if (!is_final_) return Read::kMore;
  advance(scan.at);
  if (is_space(format_.turn_end.front())) begin_part(State::kText);
  return Read::kDone;
}

Read CallParser::take_bare() {
  Scan scan = scan_held();
  scan.skip_space();
  if (scan.at_end() || std::string_view("{[`").find(scan.next()) == std::string_view::npos)
    return Read::kBroken;
  const bool in_fence = scan.next() == '`';
  const auto read_it = [&](ReadCall& call) {
    if (in_fence)
      if (const Read read = take_fence(scan); read != Read::kDone) return read;
    scan.skip_space();
    if (scan.at_end()) return scan.ended();
    const bool is_list = scan.next() == '[';
    if (is_list) ++scan.at;
    scan.skip_space();
    if (scan.at_end()) return scan.ended();
    if (scan.next() == '{') return read_object_call(format_, tools_, Names::kOffered, scan, call);
    return is_list ? read_pythonic_call(tools_, Names::kOffered, scan, call) : Read::kBroken;
  };
  ReadCall call;
  const Read read = read_it(call);
  if (read == Read::kBroken) is_bare_ = false;
  if (read != Read::kDone) return read;
  advance(scan.at);
  by_format_ = false;
  in_fence_ = in_fence;
  emit_call(std::move(call));
  return read;
}

Read CallParser::read_next_call(Scan& scan, ReadCall& call) const {
  if (by_format_ && format_.body != CallBody::kChannel) {
    Scan own = scan;
    Read read = own.take(begin_without_list(format_, format_.call_begin));
    if (read == Read::kDone) read = read_call(format_, tools_, own, call);
    if (read == Read::kDone) scan = own;
    if (read != Read::kBroken) return read;
  }
  call = {};
  if (scan.next() == '{') return read_object_call(format_, tools_, Names::kOffered, scan, call);
  return by_format_ ? Read::kBroken : read_pythonic_call(tools_, Names::kOffered, scan, call);
}

}  // namespace pando::calls
