// Common parts of benchmarks: models, workloads run by several planners in turn, tables and charts.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/statistics.h"
#include "bench/bars.h"
#include "bench/bench.h"
#include "bench/chart.h"
#include "bench/table.h"
#include "bench/timing.h"
#include "pando/engine.h"

namespace pando::bench {

// Ends a benchmark; run_benchmark makes a Status of it. Benchmarks are scripts: an error anywhere
// in one ends all of it, and none is handled on the way.
struct BenchmarkError : std::runtime_error {
  explicit BenchmarkError(Error e) : std::runtime_error(e.message()), error(std::move(e)) {}
  Error error;
};

template <class T>
T value_of(Result<T> result) {
  if (!result) throw BenchmarkError(std::move(result).error());
  return std::move(result).value();
}
inline void check(const Status& status) {
  if (!status) throw BenchmarkError(status.error());
}

constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

// A model with random weights.
struct ModelSpec {
  std::string shape;
  int n_layers = 0;  // 0: the shape's own, as for the next two
  int vocab = 0;
  int context = 0;
  WeightType weights = WeightType::kQ8_0;  // kAsStored: bf16
  std::filesystem::path tokenizer;         // directory; empty: a token for each byte
  bool all_rows = true;  // as exec::TransformerOptions, where n_layers is given; false: prompts are
                         // not timed
};

struct Workload {
  // Answered before time is taken, for planners that share: their tokens are cached then.
  std::vector<Request> warm;
  std::vector<Request> timed;  // asked at once
};
// The workload of one repetition, the same whenever it is called; tokens must be new in each,
// unless they are warm.
using MakeWorkload = std::function<Workload(int repetition)>;

// One way to do a workload.
struct Contestant {
  std::string name;     // for people
  std::string sharing;  // planner, as --sharing
  std::shared_ptr<const Model> model;
  KvType kv_type = KvType::kF16;
  int step_rows = EngineOptions{}.step_rows;
  int max_running = 256;
  size_t at_most = 0;  // of the timed requests; 0: all of them
  // Its memory for keys and values is touched before the first repetition, as in other engines, and
  // as in a server that has been at work.
  bool is_ready = false;
  MakeWorkload own;  // instead of the contest's workload; empty: that one
};

struct Sample {
  double seconds = kNotMeasured;
  EngineStats stats;                                 // of the timed requests
  std::vector<std::vector<Completion>> completions;  // [timed][n]

  double seconds_each() const { return seconds / static_cast<double>(completions.size()); }
};

// Until memory is behind the keys and values that options().kv_ahead says.
void wait_until_ready(const Engine& engine);

// True if the planner, named as in --sharing, shares tokens; false for an unknown name, with which
// no engine opens.
bool shares_tokens(const std::string& sharing);
// Divides `free` bytes: each gets what it wants or, if that is too much in all, an equal part of
// the bytes left by those that want less.
std::vector<size_t> parts_of(uint64_t free, std::vector<size_t> wanted);

// Results of a contestant in all repetitions; none if it could not run (too little memory).
struct Lane {
  std::string name;
  std::vector<Sample> samples;
  std::string why_not;  // the error, where there are no samples
  // Bytes for keys and values; it was given less than it wanted where memory is short.
  size_t kv_wanted = 0, kv_given = 0;

  const Sample& sample(size_t i) const;                // BenchmarkError where there is none
  std::vector<double> all_seconds() const;             // of each repetition
  double seconds() const;                              // median
  double requests_per_second() const;                  // of those that this contestant was asked
  const Sample& median_sample() const;                 // the sample with the median time; there
                                                       // must be samples
  double seconds_of(double EngineStats::*part) const;  // median of a part
};
// Median over repetitions of other's seconds for a request over this one's: how many times faster
// `lane` is.
double times_faster(const Lane& lane, const Lane& other);
// A note for each contestant that could not run, or had less memory than it wanted; `what` says on
// what.
void note_missing(Table& table, const std::string& what, const std::vector<Lane>& lanes);

class Harness {
 public:
  Harness(std::string benchmark, const Settings& settings);

  const Settings& settings() const { return settings_; }
  bool quick() const { return settings_.length == RunLength::kQuick; }
  bool full() const { return settings_.length == RunLength::kFull; }
  // One of three, by length.
  template <class T>
  T choose(T quick_value, T usual, T full_value) const {
    return quick() ? quick_value : full() ? full_value : usual;
  }
  int threads() const { return threads_; }
  // Bytes of data that is read from memory rather than caches; fewer when quick.
  size_t cold_bytes() const;

  // "qwen3-0.6b, 4 layers, vocabulary 32000, q8_0", or that of --model.
  std::string name(const ModelSpec& spec) const;
  // --model where it is given, else one with random weights, made once and kept.
  std::shared_ptr<const Model> model(const ModelSpec& spec);
  // Loads a directory or file; all_rows: as exec::TransformerOptions.
  std::shared_ptr<const Model> load(const std::filesystem::path& path, WeightType weights,
                                    bool all_rows = false);
  // Path of `file` in --data; check_inputs (inputs.h) has seen that it is there.
  std::filesystem::path data(std::string_view file) const;

  // Calls run(contestant, repetition), which returns seconds, for n contestants in turn, in another
  // order in every repetition. Repetition 0 comes first and is not to be counted. Others: 5 where
  // all contestants together take less than ten seconds, 3 above, 1 when quick; or as many as are
  // given.
  void in_turn(size_t n, const std::function<double(size_t who, int repetition)>& run,
               int repetitions = 0);
  // Contestants run a workload in turn. A contestant that takes more than `hopeless` times as long
  // per request as the first, uncounted and then counted, stops; beyond ten times that, its
  // uncounted time counts. 0: all are timed as often.
  std::vector<Lane> contest(const std::vector<Contestant>& contestants, const MakeWorkload& make,
                            int repetitions = 0, double hopeless = 0);

  void show(const Table& table);                    // prints it, and writes NAME[-n].csv
  void show(const Table& table, const Bars& bars);  // the same, and writes it as NAME[-n].svg
  void show(const Chart& chart);                    // writes NAME[-n].svg
  void show_svg(const std::string& svg);            // the same for another drawing
  // The line at the end: program, machine, and processor time that others took meanwhile.
  void footer() const;

 private:
  int most_repetitions(int given) const;
  std::filesystem::path file_for(const char* extension, int& count) const;

  std::string benchmark_;
  Settings settings_;
  int threads_;
  int n_tables_ = 0, n_charts_ = 0;
  OtherWork other_work_;
  std::map<std::string, std::shared_ptr<const Model>> models_;
};

}  // namespace pando::bench
