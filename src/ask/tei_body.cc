// Bodies of Hugging Face's text-embeddings-inference, and their answers.
#include "ask/tei_body.h"

#include <memory>
#include <string>
#include <utility>

#include "ask/door_body.h"
#include "ask/sampling_fields.h"
#include "base/errors.h"
#include "base/fields.h"

namespace pando::ask {
namespace {

constexpr DoorField kTeiFields[] = {{"inputs", "input"},
                                    {"normalize", "normalize"},
                                    {"dimensions", "dimensions"},
                                    {"prompt_name", "input_type"},
                                    {"truncate"},
                                    {"truncation_direction"}};

class TeiBody : public DoorBody {
 public:
  using DoorBody::DoorBody;
  Json answer() override { return vectors(); }
};

const char* tei_type(int status) {
  switch (status) {
    case 429:
      return "Overloaded";
    case 503:
      return "Unhealthy";
    default:
      return status < 500 ? "Validation" : "Backend";
  }
}

Json tei_error(const HttpError& error) {
  return {{"error", error.message}, {"error_type", tei_type(error.status)}};
}

}  // namespace

Result<std::unique_ptr<Body>> read_tei_body(const Json& json, const BodyContext& context) {
  DoorDraft door{.endpoint = Endpoint::kEmbeddings};
  if (Status status = door.draft.copy(json, kTeiFields); !status) return status.error();
  Fields fields(json);
  std::string side = "Right";
  bool at_end = true;
  fields.text("truncation_direction", side);
  const bool truncates = read_truncate(fields, at_end);
  if (side != "Right" && side != "right" && side != "Left" && side != "left")
    fields.fail("truncation_direction", side, "\"Right\" or \"Left\"");
  if (!fields.status()) return fields.status().error();
  const bool is_right = side == "Right" || side == "right";
  if (truncates) door.draft.chat["truncate"] = is_right && at_end ? "END" : "START";
  return read_door<TeiBody>(std::move(door), context);
}

const ErrorForm kTeiErrors = {.body = tei_error, .last_events = [](const HttpError& error) {
                                return stream_event(tei_error(error));
                              }};

}  // namespace pando::ask
