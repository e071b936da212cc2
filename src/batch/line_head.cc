#include "batch/line_head.h"

#include "base/errors.h"
#include "base/json.h"

namespace pando {

Result<std::string> read_id(const nlohmann::json& object, const char* what) {
  const nlohmann::json& id = object["id"];
  if (id.is_string()) return id.get<std::string>();
  if (id.is_number_integer() || !kept_digits(id).empty()) return json_text(id);
  return invalid_field("id", "of the {} is {}, expected a string or an integer", what,
                       found_text(id));
}

nlohmann::ordered_json id_value(const std::string& id_json) {
  return parse_json(id_json, LargeNumbers::kKept).value();
}

void read_metadata(Fields& fields, nlohmann::ordered_json& out) {
  nlohmann::json metadata;
  fields.object("metadata", metadata);
  if (metadata.is_object()) out.update(nlohmann::ordered_json(metadata));
}

Result<BatchLine> begin_line(const nlohmann::json& object, uint64_t line_number,
                             const AnswerOptions& defaults) {
  BatchLine line{.id = std::to_string(line_number), .options = defaults};
  line.id_json = nlohmann::json(line.id).dump();
  if (Fields(object).has("id")) {
    Result<std::string> id = read_id(object, "line");
    if (!id) return id.error();
    line.id = std::move(*id);
    line.id_json = json_text(object["id"]);
  }
  return line;
}

}  // namespace pando
