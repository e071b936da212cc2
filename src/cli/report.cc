#include "cli/report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "cli/run_settings.h"
#include "pando/values/sharing.h"
#include "pando/version.h"

namespace pando::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

// The last part of a path, also of one that ends with a slash.
std::string model_name(const std::filesystem::path& path) {
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

std::string template_of(const BatchOptions& batch) {
  switch (batch.task) {
    case BatchTask::kEmbed:
      return batch.embed.prompt_template;
    case BatchTask::kRerank:
      return batch.rerank.prompt_template;
    default:
      return batch.defaults.template_text();
  }
}

uint64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

// None where choices, or prompts that were computed again, took more than all prompts have.
uint64_t tokens_reused(const BatchSummary& summary) {
  return summary.prompt_tokens - std::min(summary.prompt_tokens, summary.stats.prefill_rows);
}

double per_second(uint64_t n, double seconds) {
  return seconds > 0 ? static_cast<double>(n) / seconds : 0;
}

OrderedJson scores_json(const Scores& scores) {
  const Metrics& error = scores.standard_error;
  OrderedJson json = {{"answers", scores.n},
                      {"exact_match", scores.exact_match},
                      {"token_f1", scores.token_f1},
                      {"rouge_l", scores.rouge_l},
                      {"standard_errors",
                       {{"exact_match", error.exact_match},
                        {"token_f1", error.token_f1},
                        {"rouge_l", error.rouge_l}}}};
  if (scores.n_choices > 0)
    json["choice"] = {{"answers", scores.n_choices},
                      {"accuracy", scores.choice_accuracy},
                      {"standard_error", error.choice_accuracy},
                      {"accuracy_norm", scores.choice_accuracy_norm},
                      {"standard_error_norm", error.choice_accuracy_norm}};
  return json;
}

std::string warning_of(const RunRecord& run) {
  const Result<SharingInfo> sharing = sharing_info(run.sharing);
  return sharing ? sharing->warning : "";
}

// Counters and times of the run.
void add_figures(const BatchSummary& s, OrderedJson& json) {
  const EngineStats& e = s.stats;
  json["tokens"] = {{"prompt_asked", s.prompt_tokens},
                    {"prompt_computed", e.prefill_rows},
                    {"prompt_reused", tokens_reused(s)},
                    {"recomputed", e.recomputed_rows},
                    {"generated", e.generated_tokens},
                    {"computed", e.prefill_rows + e.decode_rows},
                    {"pads", e.pad_rows}};
  json["seconds"] = {{"total", s.seconds},
                     {"steps", e.step_s},
                     {"matrix_products", e.linear_s},
                     {"attention", e.attention_s},
                     {"row_operations", e.row_ops_s},
                     {"sampling", e.sampling_s},
                     {"planning", e.planning_s}};
  json["rates"] = {
      {"questions_per_s", per_second(s.questions, s.seconds)},
      {"computed_tokens_per_s", per_second(e.prefill_rows + e.decode_rows, s.seconds)},
      {"matrix_product_gflops", e.linear_s > 0 ? e.linear_flops / e.linear_s * 1e-9 : 0}};
  json["engine"] = {{"steps", e.steps},
                    {"preemptions", e.preemptions},
                    {"evicted_pages", e.evicted_pages},
                    {"evicted_places", e.evicted_places},
                    {"places", e.places},
                    {"place_bytes", e.place_bytes},
                    {"kv_bytes_peak", e.kv_bytes_peak}};
  if (e.attention_bytes > 0) json["engine"]["attention_bytes"] = e.attention_bytes;
  for (const Figure& figure : e.figures) json["technique"][figure.name] = figure.value;
}

OrderedJson run_json(const RunRecord& run) {
  const BatchSummary& s = run.summary;
  OrderedJson json;
  json["sharing"] = run.sharing;
  if (const std::string warning = warning_of(run); !warning.empty()) json["wrong"] = warning;
  json["lines"] = {{"read", s.lines}, {"bad", s.bad_lines}};
  if (!run.was_finished) json["questions"] = s.questions;
  json["answers"] = {{"written", s.answers}, {"earlier", s.earlier}, {"failed", s.failed},
                     {"skipped", s.skipped}, {"lines_cut", s.cut},   {"forms_cut", s.forms_cut},
                     {"stopped", s.stopped}};
  if (!run.was_finished) add_figures(s, json);
  if (s.scores.all().n > 0) {
    json["scores"] = scores_json(s.scores.all());
    for (const auto& [group, scores] : s.scores.groups())
      json["scores"]["groups"][group] = scores_json(scores);
  }
  if (const std::optional<double> mean = s.mean_mass())
    json["mass"] = {{"mean", *mean}, {"least", s.least_mass}};
  if (s.combined_hash != 0) json["combined_hash"] = fmt::format("{:016x}", s.combined_hash);
  return json;
}

// A discarded value if the file is not JSON.
OrderedJson read_json(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return OrderedJson::parse(file, nullptr, /*allow_exceptions=*/false);
}

bool is_report(const OrderedJson& json) {
  const auto has_object = [](const OrderedJson& in, const char* name) {
    return in.contains(name) && in[name].is_object();
  };
  return has_object(json, "run") && has_object(json["run"], "answers") && json.contains("commit");
}

}  // namespace

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

double share_reused(const BatchSummary& summary) {
  if (summary.prompt_tokens == 0) return 0;
  return static_cast<double>(tokens_reused(summary)) / static_cast<double>(summary.prompt_tokens);
}

std::string warning_mark(const std::string& warning) {
  return warning.empty() ? "" : fmt::format("WRONG, {}: ", warning);
}

std::string quoted(const std::string& text) {
  return OrderedJson(text).dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string score_table(const RunRecord& run) {
  const Scores all = run.summary.scores.all();
  if (all.n == 0) return {};
  const std::map<std::string, Scores> groups = run.summary.scores.groups();
  const auto row = [&](const std::string& name, const Scores& s) {
    const Metrics& e = s.standard_error;
    const auto figure = [&](const char* what, double mean, double error) {
      return fmt::format("{} {:.2f}%{}", what, 100 * mean,
                         s.n > 1 ? fmt::format(" (standard error {:.2f}%)", 100 * error) : "");
    };
    std::string figures;
    if (s.n > s.n_choices) {  // of choices alone, accuracy says it
      const bool one = s.exact_match == s.token_f1 && s.exact_match == s.rouge_l;
      figures = one ? figure("exact match, token F1 and ROUGE-L", s.exact_match, e.exact_match)
                    : figure("exact match", s.exact_match, e.exact_match) + ", " +
                          figure("token F1", s.token_f1, e.token_f1) + ", " +
                          figure("ROUGE-L", s.rouge_l, e.rouge_l);
      figures += " over " + counted(s.n, "answers");
    }
    if (s.n_choices > 0) {
      const bool same = s.choice_accuracy == s.choice_accuracy_norm;
      figures += figures.empty() ? "" : "; ";
      figures += figure("accuracy", s.choice_accuracy, e.choice_accuracy) + ", ";
      figures += same ? "the same per character,"
                      : figure("per character", s.choice_accuracy_norm, e.choice_accuracy_norm);
      figures += " over " + counted(s.n_choices, "choices");
    }
    return fmt::format("{}{}\n", name, figures);
  };
  std::string table = row(warning_mark(warning_of(run)), all);
  for (const auto& [group, s] : groups) table += row("  " + group + ": ", s);
  return table;
}

std::string footer(const RunRecord& run, const TaskNouns& nouns, const EngineOptions& options) {
  const BatchSummary& s = run.summary;
  const EngineStats& e = s.stats;
  std::string technique;
  for (const Figure& figure : e.figures)
    technique +=
        fmt::format("{}{} {:.6g}", technique.empty() ? "" : ", ", figure.name, figure.value);
  const std::optional<double> mean_mass = s.mean_mass();
  const std::string mass = mean_mass ? fmt::format("\np(yes) + p(no): mean {:.3g}, minimum {:.3g}",
                                                   *mean_mass, s.least_mass)
                                     : "";
  return fmt::format(
      "{}{}{}: {} in {:.2f} s, {:.2f} {}/s; prompt tokens asked {}, computed {}, reused "
      "{:.1f}%; generated {}{}{} | {} | {} x {}, {}{}",
      technique.empty() ? "" : fmt::format("{}: {}\n", run.sharing, technique),
      warning_mark(warning_of(run)), run.sharing, counted(s.answers, nouns.outputs), s.seconds,
      per_second(s.questions, s.seconds), nouns.inputs, s.prompt_tokens, e.prefill_rows,
      100 * share_reused(s), e.generated_tokens,
      e.pad_rows > 0 ? fmt::format("; pads computed {}", e.pad_rows) : "",
      s.combined_hash != 0 ? fmt::format("; logits {:016x}", s.combined_hash) : "", build_commit(),
      options.threads, processor_name(), options.isa, mass);
}

std::string report_json(const RunRecord& run, const RunRecord* compared, const Engine& engine,
                        const RunOptions& o) {
  const ModelInfo model = engine.model().info();
  const EngineOptions& options = engine.options();
  OrderedJson json;
  json["date"] = utc_now();
  json["input"] = o.input;
  json["output"] = o.output;
  const Result<std::filesystem::path> path = model_path(o.model);
  json["model"] = {{"path", path ? path->string() : o.model.model},
                   {"name", path ? model_name(*path) : o.model.model},
                   {"family", model.family},
                   {"parameters", model.n_parameters},
                   {"layers", model.n_layers},
                   {"weights", model.weight_type},
                   {"weight_bytes", model.weight_bytes}};
  const char* kv_types[] = {"f32", "f16", "bf16", "int8"};
  if (!run.was_finished)
    json["options"] = {{"threads", options.threads},
                       {"kv_memory", options.kv_memory},
                       {"kv_dtype", kv_types[static_cast<int>(options.kv_type)]},
                       {"context", options.context},
                       {"seed", options.seed},
                       {"place_every", options.place_every},
                       {"step_rows", options.step_rows},
                       {"isa", options.isa}};
  json["template"] = template_of(o.batch);
  if (const auto settings = run_settings(o, engine); settings)
    for (const auto& [name, value] : *settings) json["settings"][name] = value;
  json["run"] = run_json(run);
  if (compared != nullptr) json["compared"] = run_json(*compared);
  if (!run.was_finished) json["peak_memory_bytes"] = peak_memory_bytes();
  if (!run.was_finished) json["machine"] = processor_name();
  json["commit"] = build_commit();
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace);  // a path may be anything
}

bool holds_fuller_report(const std::string& path, const std::string& report) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  const OrderedJson found = read_json(path), asked = OrderedJson::parse(report);
  if (!is_report(found) || !found["run"].contains("seconds")) return false;
  constexpr const char* kSame[] = {"/output", "/settings", "/run/scores", "/run/answers/stopped"};
  return std::ranges::all_of(kSame, [&](const char* name) {
    const OrderedJson::json_pointer place(name);
    return found.value(place, OrderedJson()) == asked.value(place, OrderedJson());
  });
}

Status may_hold_report(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error) || std::filesystem::is_empty(path, error))
    return {};
  if (is_report(read_json(path))) return {};
  return invalid_argument(
      "--report: '{}' is not a report and would be overwritten, expected an "
      "earlier report, an empty file or a new name",
      path);
}

}  // namespace pando::cli
