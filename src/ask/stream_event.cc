#include "ask/stream_event.h"

namespace pando::ask {

std::string stream_event(const Json& data) { return "data: " + json_text(data) + "\n\n"; }

std::string named_event(const Json& data) {
  return "event: " + data["type"].get<std::string>() + "\n" + stream_event(data);
}

}  // namespace pando::ask
