#include "serve/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/process_metrics.h"
#include "serve/single_metric.h"

namespace pando::serve {
namespace {

using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::MetricFamily;
using prometheus::MetricType;

// Seconds.
const prometheus::Histogram::BucketBoundaries kNext = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                       0.25,  0.5,    1,     2.5,  5,     10};

// Families of the registry that are not about HTTP.
constexpr std::string_view kOfModel[] = {"pando_time_to_first_token_seconds",
                                         "pando_time_per_output_token_seconds", "pando_model_info"};

// By KvType.
constexpr const char* kKvTypes[] = {"f32", "f16", "bf16", "int8"};

std::vector<MetricFamily> of_engine(const EngineStats& s) {
  struct Count {
    const char *name, *help;
    double value;
  };
  const auto as = [](uint64_t n) { return static_cast<double>(n); };
  const Count counts[] = {
      {"pando_prompt_tokens_total", "Prompt tokens of requests that the engine accepted",
       as(s.arrived_tokens)},
      {"pando_prompt_tokens_reused_total",
       "Prompt tokens that were cached, or also needed by another request, on arrival",
       as(s.arrived_shared)},
      {"pando_generated_tokens_total", "Generated tokens of finished requests",
       as(s.generated_tokens)},
      {"pando_engine_requests_total", "Requests that the engine finished", as(s.requests)},
      {"pando_prefill_rows_total", "Rows computed for prompts", as(s.prefill_rows)},
      {"pando_decode_rows_total", "Rows computed for generated tokens", as(s.decode_rows)},
      {"pando_recomputed_rows_total", "Rows computed again, for prompts or generated tokens",
       as(s.recomputed_rows)},
      {"pando_steps_total", "Forward passes", as(s.steps)},
      {"pando_step_seconds_total", "Seconds spent in forward passes", s.step_s},
      {"pando_preemptions_total", "Answers preempted to make room for older ones",
       as(s.preemptions)},
      {"pando_timed_seconds_total",
       "Seconds of forward passes whose size was set by predicted time", s.timed_s},
      {"pando_predicted_seconds_total",
       "Predicted seconds of the forward passes in pando_timed_seconds_total", s.predicted_s},
      {"pando_prediction_error_seconds_total",
       "Sum of the absolute errors of the predictions in pando_predicted_seconds_total",
       s.prediction_error_s},
      {"pando_budget_seconds_total",
       "Time budget, in seconds, of the forward passes in pando_timed_seconds_total", s.budget_s},
      {"pando_evicted_pages_total", "Cached pages of keys and values that were evicted",
       as(s.evicted_pages)},
      {"pando_evicted_places_total", "Cached states of recurrent layers that were evicted",
       as(s.evicted_places)},
  };
  std::vector<MetricFamily> families;
  for (const Count& count : counts)
    families.push_back(single_metric(count.name, count.help, MetricType::Counter, count.value));
  const Count gauges[] = {
      {"pando_open_answers", "Answers that are waiting or running", as(s.open_answers)},
      {"pando_running_answers", "Answers that are running and have keys and values in memory",
       as(s.running_answers)},
      {"pando_admitted_kv_tokens",
       "Predicted tokens of keys and values of open answers at their full length",
       as(s.open_tokens)},
      {"pando_queued_seconds", "Predicted time of open prompts, computed one by one", s.queued_s},
      {"pando_kv_bytes", "Bytes of keys, values and states in use, including cached ones",
       as(s.kv_bytes)},
      {"pando_places", "States of recurrent layers in use, including cached ones", as(s.places)},
      {"pando_place_bytes", "Bytes of pando_kv_bytes that are states", as(s.place_bytes)},
      {"pando_kv_capacity_bytes", "Bytes of keys, values and states that --kv-memory allows",
       as(s.kv_capacity_bytes)},
      {"pando_kv_bytes_peak", "Highest pando_kv_bytes so far", as(s.kv_bytes_peak)},
      {"pando_kv_ready_bytes", "Bytes of free pages that already have memory",
       as(s.kv_ready_bytes)},
      {"pando_tree_nodes", "Nodes in the prefix tree", as(s.tree_nodes)},
  };
  for (const Count& gauge : gauges)
    families.push_back(single_metric(gauge.name, gauge.help, MetricType::Gauge, gauge.value));
  return families;
}

}  // namespace

Metrics::Metrics(const Engine& engine, const std::string& model)
    : HttpMetrics("pando_"),
      engine_(engine),
      ttft_(BuildHistogram()
                .Name("pando_time_to_first_token_seconds")
                .Help("Time from a request to the first generated token of each answer")
                .Register(registry())
                .Add({}, kRequestSeconds)),
      tpot_(BuildHistogram()
                .Name("pando_time_per_output_token_seconds")
                .Help("Mean time per token of each answer, after its first token")
                .Register(registry())
                .Add({}, kNext)) {
  const ModelInfo info = engine.model().info();
  BuildGauge()
      .Name("pando_model_info")
      .Help("1, with labels about the model")
      .Register(registry())
      .Add({{"model", model},
            {"family", info.family},
            {"weights", info.weight_type},
            {"kv_dtype", kKvTypes[static_cast<int>(engine.options().kv_type)]},
            {"context", std::to_string(engine.options().context)}})
      .Set(1);
}

void Metrics::add_of_engine(std::vector<MetricFamily>& families) const {
  for (MetricFamily& family : of_engine(engine_.stats())) families.push_back(std::move(family));
  const auto gauge = [&](const char* name, const char* help, double value) {
    families.push_back(single_metric(name, help, MetricType::Gauge, value));
  };
  gauge("pando_admitted_kv_tokens_most",
        "Limit of pando_admitted_kv_tokens; requests beyond it are refused",
        engine_.options().max_queue * static_cast<double>(engine_.kv_capacity()));
  gauge("pando_kv_capacity_tokens", "Tokens whose keys and values fit in --kv-memory",
        static_cast<double>(engine_.kv_capacity()));
}

std::vector<MetricFamily> Metrics::of_model() const {
  std::vector<MetricFamily> families = registry().Collect();
  std::erase_if(families, [](const MetricFamily& family) {
    return std::ranges::find(kOfModel, family.name) == std::end(kOfModel);
  });
  add_of_engine(families);
  return families;
}

std::string Metrics::text(size_t n_connections, size_t n_body_bytes) const {
  std::vector<MetricFamily> families = registry().Collect();
  add_of_engine(families);
  const auto gauge = [&](const char* name, const char* help, double value) {
    families.push_back(single_metric(name, help, MetricType::Gauge, value));
  };
  gauge("pando_open_connections", "Open connections", static_cast<double>(n_connections));
  gauge("pando_body_bytes", "Bytes of request bodies that are being received or read",
        static_cast<double>(n_body_bytes));
  for (MetricFamily& family : process_metrics()) families.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace pando::serve
