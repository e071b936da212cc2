#include "ask/stream_event.h"

namespace pando::ask {

std::string stream_event(const Json& data) { return "data: " + json_text(data) + "\n\n"; }

}  // namespace pando::ask
