// A byte that chooses a format of calls, then an answer: taken apart alike however it is cut, and
// every call has a name and an object of arguments.
#include "base/json.h"
#include "fuzz/fuzz.h"
#include "text/calls/call_parser.h"

using namespace pando;
using calls::AnswerEvent;
using calls::CallBody;
using calls::CallFormat;
using calls::HeadPiece;

namespace {

CallFormat marked(CallBody body) {
  CallFormat format = *calls::call_format_named("hermes");
  format.body = body;
  format.section_begin = "<calls>";
  format.section_end = "</calls>";
  format.call_begin = "<call>";
  format.call_end = "</call>";
  format.head = {{HeadPiece::Kind::kName}, {HeadPiece::Kind::kText, "\n"}};
  format.parameter_begin = "<arg>";
  format.value_begin = "<is>";
  format.json_value_begin = "<json>";
  format.parameter_end = "</arg>";
  format.quote = "<q>";
  format.text_begin = "<text>";
  format.text_end = "</text>";
  format.turn_end = "<end>";
  return format;
}

CallFormat format_of(char byte) {
  constexpr const char* kNames[] = {"json", "hermes", "pythonic", "harmony", "kimi"};
  constexpr CallBody kBodies[] = {CallBody::kParameters, CallBody::kNested, CallBody::kLoose,
                                  CallBody::kJson};
  const unsigned choice = static_cast<unsigned char>(byte) % 9;
  return choice < 5 ? *calls::call_format_named(kNames[choice]) : marked(kBodies[choice - 5]);
}

// The events of an answer that comes in pieces of `size` bytes, with texts of one kind joined.
std::vector<AnswerEvent> taken_apart(const CallFormat& format, const calls::OfferedTools& tools,
                                     std::string_view answer, size_t size) {
  calls::CallParser parser(format, tools, "<bot>");
  std::vector<AnswerEvent> joined;
  const auto take = [&](std::vector<AnswerEvent> events) {
    for (AnswerEvent& event : events) {
      const bool is_text =
          event.kind == AnswerEvent::Kind::kText || event.kind == AnswerEvent::Kind::kReasoning;
      if (is_text && !joined.empty() && joined.back().kind == event.kind)
        joined.back().bytes += event.bytes;
      else
        joined.push_back(std::move(event));
    }
  };
  for (size_t at = 0; at < answer.size(); at += size) take(parser.feed(answer.substr(at, size)));
  take(parser.finish());
  return joined;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const calls::OfferedTools tools = *calls::OfferedTools::parse(R"([
      {"name": "f", "parameters": {"properties": {"a": {"type": "string"}, "b": {"type": "integer"},
       "c": {"type": "object", "properties": {"d": {"type": "array"}}}}}}, {"name": "g"}])");
  if (size == 0) return 0;
  const std::string_view answer = fuzz::text_of(data, size).substr(1);
  const CallFormat format = format_of(static_cast<char>(data[0]));
  const std::vector<AnswerEvent> whole =
      taken_apart(format, tools, answer, std::max<size_t>(1, answer.size()));
  for (const size_t piece : {size_t{1}, size_t{2}, size_t{7}})
    fuzz::demand(taken_apart(format, tools, answer, piece) == whole,
                 "an answer that is taken apart by how it is cut");
  for (const AnswerEvent& event : whole) {
    if (event.kind == AnswerEvent::Kind::kCallBegin)
      fuzz::demand(calls::is_call_name(event.bytes), "a call without a name");
    if (event.kind != AnswerEvent::Kind::kArguments) continue;
    const auto arguments = parse_json(event.bytes);
    fuzz::demand(arguments.ok() && arguments->is_object(), "arguments that are no object");
  }
  return 0;
}
