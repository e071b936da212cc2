#include "pando/scores.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/json.h"
#include "task/metrics.h"

namespace pando {
namespace {

using Json = nlohmann::ordered_json;

struct Field {
  const char* name;
  double Metrics::*value;
  bool of_choices;
};
constexpr Field kFields[] = {{"exact_match", &Metrics::exact_match, false},
                             {"token_f1", &Metrics::token_f1, false},
                             {"rouge_l", &Metrics::rouge_l, false},
                             {"choice", &Metrics::choice_accuracy, true},
                             {"choice_norm", &Metrics::choice_accuracy_norm, true}};

}  // namespace

Metrics metrics_of(std::string_view answer, std::span<const std::string> references) {
  return {.exact_match = exact_match(answer, references),
          .token_f1 = token_f1(answer, references),
          .rouge_l = rouge_l(answer, references),
          .choice_accuracy = accuracy(answer, references)};
}

void ScoreTable::add(const Metrics& answer, bool is_choice, const std::string& group) {
  const auto add_to = [&](Sums& sums) {
    ++sums.n;
    sums.n_choices += is_choice;
    for (const Field& field : kFields) {
      if (field.of_choices && !is_choice) continue;
      const double value = answer.*field.value;
      sums.values.*field.value += value;
      sums.squares.*field.value += value * value;
    }
  };
  add_to(all_);
  if (!group.empty()) add_to(groups_[group]);
}

std::map<std::string, Scores> ScoreTable::groups() const {
  std::map<std::string, Scores> means;
  for (const auto& [name, sums] : groups_) means.emplace(name, mean(sums));
  return means;
}

Scores ScoreTable::mean(const Sums& sums) {
  Scores scores;
  scores.n = sums.n;
  scores.n_choices = sums.n_choices;
  for (const Field& field : kFields) {
    const auto n = static_cast<double>(field.of_choices ? sums.n_choices : sums.n);
    if (n == 0) continue;
    const double mean = sums.values.*field.value / n;
    scores.*field.value = mean;
    if (n < 2) continue;
    const double variance = std::max(0.0, (sums.squares.*field.value - n * mean * mean) / (n - 1));
    scores.standard_error.*field.value = std::sqrt(variance / n);
  }
  return scores;
}

std::string ScoreTable::to_json() const {
  const auto json_of = [](const Sums& sums) {
    Json json = {{"n", sums.n}, {"n_choices", sums.n_choices}};
    for (const Field& field : kFields)
      json[field.name] = {sums.values.*field.value, sums.squares.*field.value};
    return json;
  };
  Json json = {{"all", json_of(all_)}, {"groups", Json::object()}};
  for (const auto& [name, sums] : groups_) json["groups"][name] = json_of(sums);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<ScoreTable> ScoreTable::from_json(std::string_view text) {
  ScoreTable table;
  const auto read = [](const Json& json, Sums& sums) {
    sums.n = json.at("n");
    sums.n_choices = json.at("n_choices");
    for (const Field& field : kFields) {
      sums.values.*field.value = json.at(field.name).at(0);
      sums.squares.*field.value = json.at(field.name).at(1);
    }
  };
  try {
    const Json json = Json::parse(text);
    read(json.at("all"), table.all_);
    for (const auto& [name, sums] : json.at("groups").items()) read(sums, table.groups_[name]);
  } catch (const Json::exception& error) {
    return bad_file("the scores of a finished run: {}", error.what());
  }
  return table;
}

}  // namespace pando
