// A run of `pando bench serve` goes by these: measured once, the same for all contenders.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lab/experiment.h"
#include "lab/papers/serve_contenders.h"
#include "lab/papers/serve_tables.h"
#include "pando/step_costs.h"

namespace pando::lab {

struct ServeRun {
  std::vector<TraceLine> trace;
  ChatMix mix;
  ServedModel served;
  uint32_t n_short = 0;     // median tokens of a short prompt
  double budget = 0;        // seconds of a step
  DeadlineClass deadlines;  // of all requests
  std::vector<Contender> contenders;
  struct Load {
    double load;        // part of the capacity
    double seconds;     // of a live window, of those that count
    int n_windows = 1;  // from different places of the trace
  };
  std::vector<Load> loads;
  double head = 0, tail = 0;       // seconds before those, and how long is waited for answers
  double simulated_seconds = 0;    // of a simulated window
  std::vector<std::string> notes;  // they say what is fixed
  // Requests a second that the baseline does where all are there at once, over HTTP and in the
  // simulator, whose steps of whole prompts take no longer for each row than those of chunks.
  double capacity = 0, simulated_capacity = 0;

  const Contender& baseline() const { return contenders.back(); }
  double live_rate(double load) const { return load * capacity; }
  double simulated_rate(double load) const { return load * simulated_capacity; }
  // As long, or as long as there are requests in the trace.
  Span span(double for_seconds, double rate) const;
  // With their deadlines, by predicted work.
  std::vector<ServedRequest> requests(const ChatMix& of, double rate, double for_seconds,
                                      uint64_t seed) const;
};

// All but the capacities.
ServeRun serve_run(Harness& harness);
// Does the same for the simulator alone: no model, and steps that take as long as is given.
ServeRun simulated_run(const Harness& harness, const Predictor& predictor);

// Measures n_requests, by when the last token came; over HTTP the median of n_times.
void measure_capacities(ServeRun& run, int n_requests, int n_times);
double simulated_capacity(const ServeRun& run, int n_requests);

// Windows of each contender at each load.
struct LiveGrid {
  struct Point {
    ServeRun::Load load;
    std::vector<std::vector<ServedWindow>> windows;  // [contenders][n_windows]
    std::vector<double> prediction_error;            // [contenders], percent of measured time
    std::vector<std::string> order;                  // in which all windows were served
  };
  std::vector<Point> points;  // [loads]
};

std::vector<NamedFigures> figures_of(const ServeRun& run, const LiveGrid::Point& point);

// Shows what the simulator says of the same, and of more.
void show_simulated(Harness& harness, const ServeRun& run, const LiveGrid& live);

}  // namespace pando::lab
