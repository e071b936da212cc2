// base/json.h against the library's own parser, which lets more pass.
#include "base/json.h"
#include "fuzz/fuzz.h"

using namespace pando;  // NOLINT: a fuzz target has no other names

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const Result<Json> value = parse_json(text);
  if (!value) {
    fuzz::check_error(value.error());
    return 0;
  }
  fuzz::demand(*value == Json::parse(text), "the library reads another value");
  const Result<Json> again = parse_json(value->dump());
  fuzz::demand(again.ok() && *again == *value, "what is written is not what was read");
  return 0;
}
