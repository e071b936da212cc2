#include "pando/batch_summary.h"

#include "base/errors.h"
#include "base/json.h"

namespace pando {
namespace {

struct Count {
  const char* name;
  uint64_t BatchSummary::*value;
};
constexpr Count kCounts[] = {{"lines", &BatchSummary::lines},
                             {"bad_lines", &BatchSummary::bad_lines},
                             {"earlier", &BatchSummary::earlier},
                             {"failed", &BatchSummary::failed},
                             {"too_long", &BatchSummary::too_long},
                             {"skipped", &BatchSummary::skipped},
                             {"cut", &BatchSummary::cut},
                             {"forms_cut", &BatchSummary::forms_cut},
                             {"combined_hash", &BatchSummary::combined_hash}};

}  // namespace

std::optional<double> BatchSummary::mean_mass() const {
  if (n_masses == 0) return std::nullopt;
  return mass_sum / static_cast<double>(n_masses);
}

std::string finished_summary(const BatchSummary& summary) {
  BatchSummary kept = summary;
  kept.earlier += kept.answers;
  Json json = Json::object();
  for (const Count& count : kCounts) json[count.name] = kept.*count.value;
  json["group_by"] = kept.group_by;
  json["scores"] = Json::parse(kept.scores.to_json());
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<BatchSummary> read_finished_summary(const std::string& text) {
  BatchSummary summary;
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return bad_file("the journal's summary is not an object");
  for (const Count& count : kCounts) {
    const auto found = json.find(count.name);
    if (found == json.end() || !found->is_number_unsigned())
      return bad_file("the journal's summary has no '{}'", count.name);
    summary.*count.value = *found;
  }
  const auto scores = json.find("scores");
  if (scores == json.end()) return bad_file("the journal's summary has no 'scores'");
  Result<ScoreTable> table = ScoreTable::from_json(scores->dump());
  if (!table) return table.error();
  summary.scores = std::move(*table);
  summary.group_by = json.value("group_by", "");
  return summary;
}

}  // namespace pando
