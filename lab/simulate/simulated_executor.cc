#include "lab/simulate/simulated_executor.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/check.h"
#include "schedule/remaining.h"

namespace pando::lab {
namespace {

struct Active {
  uint32_t index;  // of the request
  ScheduledRequest scheduled;
  uint32_t n_done = 0;    // computed of its own part: prompt behind the prefix, and answer
  uint32_t n_tokens = 0;  // of its answer so far
  double last_token = 0;
  bool running = false;
};

class Simulation {
 public:
  Simulation(std::span<const SimulatedRequest> requests, Predictor belief, const Predictor& machine,
             const SimulationOptions& options)
      : requests_(requests),
        belief_(belief),
        machine_(machine),
        options_(options),
        remaining_(belief, options.packer.step_budget, longest(requests), options.packer.n_rows),
        by_arrival_(requests.size()),
        answers_(requests.size()) {
    std::iota(by_arrival_.begin(), by_arrival_.end(), 0);
    std::ranges::stable_sort(by_arrival_, {}, [&](uint32_t i) { return requests[i].arrival; });
  }

  std::vector<SimulatedAnswer> run() {
    while (next_ < by_arrival_.size() || !active_.empty()) {
      if (active_.empty()) now_ = std::max(now_, requests_[by_arrival_[next_]].arrival);
      arrive();
      step();
    }
    return std::move(answers_);
  }

 private:
  static uint32_t longest(std::span<const SimulatedRequest> requests) {
    uint32_t n = 0;
    for (const SimulatedRequest& request : requests) n = std::max(n, request.n_prompt);
    return n;
  }

  // Tokens of its prompt that are computed.
  uint32_t n_cached(const Active& active) const {
    const SimulatedRequest& request = requests_[active.index];
    const auto prefix = prefix_done_.find(request.prefix_id);
    const uint32_t n = request.prefix_id == 0 || prefix == prefix_done_.end() ? 0 : prefix->second;
    return std::min(request.n_prompt, n + active.n_done);
  }
  static uint32_t prefix_len(const SimulatedRequest& request) {
    return request.prefix_id > 0 ? request.prefix_len : 0;
  }
  double seconds_left(const Active& active) const {
    return belief_.corrected(remaining_.time(requests_[active.index].n_prompt, n_cached(active)));
  }

  void arrive() {
    for (; next_ < by_arrival_.size() && requests_[by_arrival_[next_]].arrival <= now_; ++next_) {
      Active active{.index = by_arrival_[next_]};
      const SimulatedRequest& request = requests_[active.index];
      PANDO_CHECK(request.n_prompt > 0 && request.n_answer > 0 &&
                  prefix_len(request) <= request.n_prompt);
      active.scheduled = scheduled_request(request.arrival, seconds_left(active), request.deadlines,
                                           options_.otherwise);
      answers_[active.index].scheduled = active.scheduled;
      active_.push_back(active);
    }
  }

  // One item for each active request, with a segment for the prefix, where it is not computed, and
  // one for its own part.
  WorkView view() {
    WorkView view;
    std::map<uint32_t, uint32_t> prefix_segment, prefix_part;
    uint32_t n_running = 0;
    for (Active& active : active_) {
      const SimulatedRequest& request = requests_[active.index];
      n_running += active.running;
      WorkView::Item item{.running = active.running, .decoding = active.n_tokens > 0};
      const uint32_t n_prefix = prefix_len(request);
      if (n_prefix > 0) {
        const uint32_t n_done = prefix_done_[request.prefix_id];
        const auto [segment, first] = prefix_segment.try_emplace(
            request.prefix_id, static_cast<uint32_t>(view.segment_rows.size()));
        if (first) {
          add_segment(view, n_done, n_prefix - n_done);
          prefix_part[request.prefix_id] = static_cast<uint32_t>(view.cached_rows.size());
          view.cached_rows.push_back(n_done);
        }
        if (n_done < n_prefix) item.segments.push_back(segment->second);
        item.cached.push_back(prefix_part[request.prefix_id]);
      }
      const uint32_t n_own = request.n_prompt - n_prefix + active.n_tokens;
      if (active.n_done < n_own) {
        item.segments.push_back(static_cast<uint32_t>(view.segment_rows.size()));
        add_segment(view, n_prefix + active.n_done, n_own - active.n_done);
      } else if (item.segments.empty()) {  // all cached: its last row once more
        item.again.push_back(static_cast<uint32_t>(view.segment_rows.size()));
        add_segment(view, n_prefix + n_own - 1, 1);
      }
      item.cached.push_back(static_cast<uint32_t>(view.cached_rows.size()));
      view.cached_rows.push_back(active.n_done);
      view.items.push_back(std::move(item));
      if (active.n_tokens == 0) active.scheduled.left = seconds_left(active);
    }
    view.n_starts = options_.max_running - std::min(options_.max_running, n_running);
    return view;
  }
  static void add_segment(WorkView& view, uint32_t begin, uint32_t n_rows) {
    view.segment_begin.push_back(begin);
    view.segment_rows.push_back(n_rows);
  }

  void step() {
    const WorkView work = view();
    std::vector<ScheduledRequest> requests;
    for (const Active& active : active_) requests.push_back(active.scheduled);
    const PackedStep packed =
        pack_step({work, requests, now_, belief_, *options_.policy, options_.packer});
    const std::vector<Advance>& advances = packed.advances;
    PANDO_CHECK(!advances.empty());
    const double seconds = machine_.seconds(packed.features);
    belief_.observe(packed.features, seconds);
    const double begin = now_;
    now_ += seconds;
    for (const Advance& advance : advances) carry_out(active_[advance.item], advance);
    for (const Advance& advance : advances) speak(active_[advance.item]);
    if (options_.on_step) {
      SimulatedStep step{begin, seconds, advances};
      for (Advance& advance : step.advances) advance.item = active_[advance.item].index;
      options_.on_step(step);
    }
    std::erase_if(active_, [&](const Active& active) {
      return active.n_tokens == requests_[active.index].n_answer;
    });
  }

  // Its rows: first of the prefix, then its own.
  void carry_out(Active& active, const Advance& advance) {
    const SimulatedRequest& request = requests_[active.index];
    active.running = true;
    uint32_t n_rows = advance.n_rows;
    if (prefix_len(request) > 0) {
      uint32_t& n_done = prefix_done_[request.prefix_id];
      const uint32_t n = std::min(n_rows, request.prefix_len - n_done);
      n_done += n;
      n_rows -= n;
    }
    active.n_done += n_rows;
  }

  // A token, once all of its prompt and answer is computed.
  void speak(Active& active) {
    const SimulatedRequest& request = requests_[active.index];
    const uint32_t n_prefix = prefix_len(request);
    if (n_prefix > 0 && prefix_done_[request.prefix_id] < n_prefix) return;
    if (active.n_done < request.n_prompt - n_prefix + active.n_tokens) return;
    SimulatedAnswer& answer = answers_[active.index];
    if (active.n_tokens == 0) {
      answer.first_token = now_;
    } else {
      answer.worst_gap = std::max(answer.worst_gap, now_ - active.last_token);
    }
    active.last_token = answer.finished = now_;
    answer.tokens.push_back(now_);
    ++active.n_tokens;
  }

  std::span<const SimulatedRequest> requests_;
  Predictor belief_;
  const Predictor& machine_;
  const SimulationOptions& options_;
  RemainingTable remaining_;
  std::vector<uint32_t> by_arrival_;
  size_t next_ = 0;                           // of by_arrival_
  std::vector<Active> active_;                // in order of arrival
  std::map<uint32_t, uint32_t> prefix_done_;  // tokens of each prefix that are computed
  std::vector<SimulatedAnswer> answers_;
  double now_ = 0;
};

Predictor slowed(const Predictor& predictor, double share) {
  StepCosts costs = predictor.costs();
  for (double* cost : {&costs.step, &costs.head, &costs.output, &costs.key, &costs.read,
                       &costs.move, &costs.expert})
    *cost /= share;
  for (double& cost : costs.row) cost /= share;
  return Predictor(costs);
}

}  // namespace

std::vector<SimulatedAnswer> simulate(std::span<const SimulatedRequest> requests, Predictor belief,
                                      const Predictor& machine, const SimulationOptions& options) {
  return Simulation(requests, belief, machine, options).run();
}

std::vector<SimulatedAnswer> simulate_pools(std::span<const SimulatedRequest> requests,
                                            const Predictor& belief, const Predictor& machine,
                                            const SimulationOptions& options, double share,
                                            uint32_t n_short) {
  PANDO_CHECK(share > 0 && share < 1);
  std::vector<SimulatedAnswer> answers(requests.size());
  for (const bool is_short : {true, false}) {
    std::vector<uint32_t> indices;
    std::vector<SimulatedRequest> part;
    for (uint32_t i = 0; i < requests.size(); ++i)
      if ((requests[i].n_prompt < n_short) == is_short) {
        indices.push_back(i);
        part.push_back(requests[i]);
      }
    const double speed = is_short ? share : 1 - share;
    const std::vector<SimulatedAnswer> answered =
        simulate(part, slowed(belief, speed), slowed(machine, speed), options);
    for (size_t i = 0; i < part.size(); ++i) answers[indices[i]] = answered[i];
  }
  return answers;
}

}  // namespace pando::lab
