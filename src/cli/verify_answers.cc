#include "cli/verify_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <istream>

#include "cli/exit_code.h"
#include "cli/print_stderr.h"
#include "cli/task_nouns.h"
#include "pando/file_input.h"

namespace pando::cli {
namespace {

// The first answer of the input is always asked again: no sample is empty.
AnswerKey first_answer(const Hashes& hashes) {
  return hashes.empty() ? AnswerKey{.line = UINT64_MAX} : hashes.begin()->first;
}

bool is_first_choice(const Hashes::value_type& entry) { return entry.first.choice == 0; }

// The sample depends on the questions' places alone, and is spread evenly: over the questions of a
// line in equal steps, over lines by multiples of the golden ratio. So a few questions get their
// share too.
bool in_sample(double share, const AnswerKey& key) {
  constexpr double kGolden = 0.6180339887498949;
  const double ahead = kGolden * static_cast<double>(key.line - 1);
  const auto n_before = [&](size_t question) {
    return std::ceil(share * static_cast<double>(question) - (ahead - std::floor(ahead)));
  };
  return n_before(key.question + 1) > n_before(key.question);
}

}  // namespace

bool wants_hash(const RunOptions& o, const AnswerKey& key, const Hashes& so_far) {
  return o.verify > 0 && (in_sample(o.verify, key) || key < first_answer(so_far));
}

int verify_answers(const RunOptions& o, const std::shared_ptr<const Model>& model, Hashes& hashes,
                   uint64_t n_asked, const BatchSummary& run, int code) {
  const AnswerKey first = first_answer(hashes);
  std::erase_if(hashes, [&](const auto& entry) {
    return !in_sample(o.verify, entry.first) && entry.first != first;
  });
  EngineOptions options = engine_options(o.model);
  options.sharing = "packed";
  options.max_running = 1;
  Result<std::unique_ptr<Engine>> engine = Engine::open(model, options);
  if (!engine) return report_error(engine.error());
  FileInput again;
  if (Status status = again.open(o.input); !status) return report_error(status.error());
  std::istream stream(&again);
  const Result<BatchVerification> verified = verify_batch(**engine, stream, o.batch, hashes);
  if (!verified) return report_error(verified.error());
  if (!verified->different.empty())
    return report_error(fmt::format("verified {} alone and unshared: {} DIFFER, the first is '{}'",
                                    counted(verified->answers, "answers"),
                                    verified->different.size(), verified->different.front()));
  if (verified->answers == 0) {
    report_error("nothing was verified, expected at least one answer");
    return code == kOk ? kFailed : code;
  }
  print_stderr(
      "verified: {} of {} asked again, alone and unshared, in {:.2f} s: all bits equal{}\n",
      std::ranges::count_if(hashes, is_first_choice),
      counted(n_asked, nouns_of(o.batch.task).inputs), verified->seconds,
      run.bad_lines + run.failed + run.skipped > 0
          ? fmt::format("; not verified: {}, {}", counted(run.bad_lines, "bad lines"),
                        counted(run.failed + run.skipped, "questions"))
          : "");
  return code;
}

}  // namespace pando::cli
