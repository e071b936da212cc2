// The perplexity of a text, as a job.
#include <atomic>
#include <limits>
#include <thread>
#include <utility>

#include "base/errors.h"
#include "base/fields.h"
#include "base/json.h"
#include "capi/job.h"
#include "capi/output_queue.h"
#include "pando/score.h"

namespace pando::capi {
namespace {

std::string perplexity_json(const Perplexity& found) {
  return json_text({{"tokens", found.n_tokens},
                    {"bytes", found.n_bytes},
                    {"windows", found.n_windows},
                    {"log_likelihood", found.log_likelihood},
                    {"perplexity", found.perplexity()},
                    {"bits_per_byte", found.bits_per_byte()}});
}

class PerplexityJob final : public Job {
 public:
  PerplexityJob(std::shared_ptr<Engine> engine, std::string text, PerplexityOptions options)
      : engine_(std::move(engine)), text_(std::move(text)), options_(std::move(options)) {
    options_.stop = &is_stopped_;
    thread_ = std::thread([this] { output_.end(run()); });
  }
  ~PerplexityJob() override {
    is_stopped_ = true;
    thread_.join();
  }

  Result<What> next(Deadline deadline, std::string& json) override {
    return output_.next(deadline, json);
  }
  void cancel() override {
    is_stopped_ = true;
    output_.cancel();
  }

 private:
  Status run() {
    try {
      const Result<Perplexity> found = perplexity(*engine_, text_, options_);
      if (!found) return found.error();
      output_.push(perplexity_json(*found));
      return {};
    } catch (const std::bad_alloc&) {
      return no_memory();
    }
  }

  const std::shared_ptr<Engine> engine_;
  const std::string text_;
  PerplexityOptions options_;
  std::atomic<bool> is_stopped_ = false;
  OutputQueue output_{bell_};
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Job>> open_perplexity(std::shared_ptr<Engine> engine,
                                             std::string_view options) {
  Result<Json> json = parse_json_object(options, "the body", LargeNumbers::kKept);
  if (!json) return with_code(ErrorCode::kInvalidArgument, json.error());
  Fields fields(*json);
  fields.only(std::initializer_list<std::string_view>{"text", "window", "stride"});
  std::string text;
  PerplexityOptions asked;
  fields.text("text", text);
  constexpr int kMostTokens = std::numeric_limits<int>::max();
  for (const auto& [name, to] : {std::pair{"window", &asked.window}, {"stride", &asked.stride}})
    if (fields.has(name)) *to = static_cast<int>(fields.integer(name, 1, kMostTokens));
  if (!fields.status()) return fields.status().error();
  if (!fields.has("text")) return invalid_field("text", "is absent, expected a string");
  if (Status status = check_perplexity_options(*engine, asked); !status) return status.error();
  return std::unique_ptr<Job>(
      new PerplexityJob(std::move(engine), std::move(text), std::move(asked)));
}

}  // namespace pando::capi
