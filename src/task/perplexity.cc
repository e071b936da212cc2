// The perplexity of a text, in windows.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "api/request_group.h"
#include "api/waker.h"
#include "base/counted.h"
#include "base/errors.h"
#include "pando/score.h"
#include "task/scoring_request.h"

namespace pando {

double Perplexity::perplexity() const {
  return std::exp(-log_likelihood / static_cast<double>(n_tokens));
}

double Perplexity::bits_per_byte() const {
  return -log_likelihood / std::log(2.0) / static_cast<double>(n_bytes);
}

namespace {

constexpr size_t kWindowsAtATime = 64;  // so that no text is held many times over
constexpr std::chrono::milliseconds kProgressEvery{500};
constexpr std::chrono::milliseconds kStopSeenIn{100};

struct Windows {
  int window, stride;
  std::vector<Token> start;  // tokens that every text begins with
};

Result<Windows> windows_of(const Engine& engine, const PerplexityOptions& options) {
  Result<std::vector<Token>> start = encode_beginning(engine.model(), "");
  if (!start) return start.error();
  const int longest = engine.options().context, n_start = static_cast<int>(start->size());
  const int window = options.window > 0 ? options.window : longest;
  const int stride = options.stride > 0 ? options.stride : std::max(1, window / 2);
  if (window < 2 + n_start || window > longest)
    return invalid_option("window",
                          "is {}, expected at least {} tokens and at most the context of {}",
                          counted(static_cast<uint64_t>(window), "tokens"), 2 + n_start, longest);
  const int most = window - std::max(n_start, 1);
  if (options.stride < 0 || stride > most)
    return invalid_option("stride", "is {} tokens, expected 1 to {}", stride, most);
  return Windows{window, stride, std::move(*start)};
}

class WindowScoring {
 public:
  WindowScoring(Engine& engine, const Windows& windows, const std::vector<Token>& tokens,
                const PerplexityOptions& options, size_t n_bytes,
                std::chrono::steady_clock::time_point start)
      : engine_(engine),
        windows_(windows),
        tokens_(tokens),
        options_(options),
        next_(first_scored()),
        before_(engine.stats()),
        start_(start) {
    result_.n_bytes = n_bytes;
  }

  Result<Perplexity> run() {
    while (next_ < tokens_.size() && !stopping_)
      if (Status status = score(next_windows()); !status) return status.error();
    result_.stopped |= next_ < tokens_.size();
    report({});
    return result_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Scored = std::vector<std::optional<Completion>>;

  size_t first_scored() const { return std::max<size_t>(windows_.start.size(), 1); }

  std::vector<Request> next_windows() {
    const size_t n_start = windows_.start.size();
    const size_t n_first = windows_.window - n_start;  // of the text, in any window
    std::vector<Request> requests;
    while (next_ < tokens_.size() && requests.size() < kWindowsAtATime) {
      const bool is_first = next_ == first_scored();
      const size_t end =
          std::min(tokens_.size(), is_first ? n_start + n_first : next_ + windows_.stride);
      const size_t begin = std::max(n_start, end - std::min(end, n_first));
      std::vector<Token> piece = windows_.start;
      piece.insert(piece.end(), tokens_.begin() + begin, tokens_.begin() + end);
      requests.push_back(scoring_request(std::move(piece), n_start + next_ - begin));
      next_ = end;
    }
    return requests;
  }

  // Engine::complete_all can neither be stopped nor report progress, but a text may take hours. A
  // stop drops windows under way, because a long window takes many steps.
  Status score(std::vector<Request> requests) {
    Scored scored(requests.size());
    Waker waker;
    Engine::Hold held = engine_.hold();  // requests that the group cancels before this ends are not
                                         // computed
    RequestGroup group(engine_, {.on_events = [&] { waker.wake(); }});
    for (Request& request : requests) {
      n_asked_ += request.tokens.size();
      group.add(std::move(request));
    }
    while (!group.is_over()) {
      group.submit();
      // A window that is complete when the stop is seen counts, however long the next lines take.
      // One that neither waits now nor is complete after that is under way.
      const bool stops = options_.stop != nullptr && *options_.stop;
      const std::vector<size_t> waiting = stops ? group.waiting() : std::vector<size_t>();
      std::vector<GroupEvent> events = group.take();
      for (GroupEvent& one : events) {
        if (one.event.error) return *one.event.error;
        scored[one.request] = std::move(*one.event.completion);
      }
      if (stops) drop_rest(scored, waiting, group);
      if (Clock::now() >= reported_ + kProgressEvery) report(scored);
      if (!events.empty() || group.is_over()) continue;
      held.reset();  // the requests have to run now
      waker.wait(wake_at(group.retry_at()));
    }
    result_ = with(scored);
    return {};
  }

  void drop_rest(const Scored& scored, const std::vector<size_t>& waiting, RequestGroup& group) {
    stopping_ = true;
    for (size_t one = 0; one < scored.size(); ++one) {
      if (scored[one]) continue;
      group.cancel(one);
      result_.n_dropped += !std::ranges::binary_search(waiting, one);
      result_.stopped = true;
    }
  }

  // When to go on though there are no events, if ever.
  std::optional<Clock::time_point> wake_at(std::optional<Clock::time_point> retry_at) const {
    if (options_.stop == nullptr && !options_.on_progress) return retry_at;
    const Clock::time_point look =
        Clock::now() + (options_.stop == nullptr ? kProgressEvery : kStopSeenIn);
    return std::min(look, retry_at.value_or(look));
  }

  // Adds windows in the order of the text, not in that of scoring.
  Perplexity with(const Scored& scored) const {
    Perplexity sum = result_;
    for (const std::optional<Completion>& window : scored) {
      if (!window) continue;
      ++sum.n_windows;
      sum.n_tokens += window->prompt_logprobs.size();
      for (const TokenLogprob& token : window->prompt_logprobs) sum.log_likelihood += token.logprob;
    }
    return sum;
  }

  void report(const Scored& scored) {
    reported_ = Clock::now();
    if (!options_.on_progress) return;
    PerplexityProgress now{.so_far = with(scored)};
    const auto n_all = static_cast<double>(std::max<size_t>(1, tokens_.size() - first_scored()));
    now.share_done = static_cast<double>(now.so_far.n_tokens) / n_all;
    now.seconds = std::chrono::duration<double>(reported_ - start_).count();
    now.stats = engine_.stats().since(before_);
    const auto n_computed = static_cast<double>(now.stats.prefill_rows);
    if (n_computed > 0 && !stopping_) {
      const double share_asked = static_cast<double>(next_ - first_scored()) / n_all;
      const double n_to_compute = static_cast<double>(n_asked_) / share_asked;
      const double seconds = std::chrono::duration<double>(reported_ - encoded_).count();
      now.seconds_left = std::max(0.0, n_to_compute - n_computed) * seconds / n_computed;
    }
    options_.on_progress(now);
  }

  Engine& engine_;
  const Windows& windows_;
  const std::vector<Token>& tokens_;  // of the text, with windows_.start
  const PerplexityOptions& options_;
  size_t next_;  // first token that is in no window yet
  EngineStats before_;
  Perplexity result_;     // of the windows that are over
  uint64_t n_asked_ = 0;  // tokens of all windows asked for
  bool stopping_ = false;
  Clock::time_point start_;  // of the call
  Clock::time_point encoded_ = Clock::now(), reported_ = encoded_;
};

}  // namespace

Status check_perplexity_options(const Engine& engine, const PerplexityOptions& options) {
  const Result<Windows> windows = windows_of(engine, options);
  return windows ? Status() : windows.error();
}

Result<Perplexity> perplexity(Engine& engine, std::string_view text,
                              const PerplexityOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const Result<Windows> windows = windows_of(engine, options);
  if (!windows) return windows.error();
  const Result<std::vector<Token>> tokens = encode_beginning(engine.model(), text);
  if (!tokens) return tokens.error();
  if (tokens->size() < 2)
    return invalid_argument("the text has {}, expected at least 2",
                            counted(tokens->size(), "tokens"));
  return WindowScoring(engine, *windows, *tokens, options, text.size(), start).run();
}

}  // namespace pando
