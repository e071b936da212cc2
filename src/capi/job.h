// Work that takes JSON and gives JSON, pulled one text at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "capi/bell.h"
#include "capi/group_reader.h"
#include "pando/engine.h"

namespace pando::capi {

// One consumer calls `next` and `put`, any thread `cancel`.
class Job {
 public:
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  virtual ~Job() = default;

  // `json` gets the next result (kEvent). Once it is over or failed, always the same.
  virtual Result<What> next(Deadline deadline, std::string& json) = 0;
  // Lines of input. False: it has no room now, and took nothing.
  virtual Result<bool> put(std::string_view lines);
  virtual Status end_input();
  virtual void cancel() = 0;
  int descriptor() { return bell_.descriptor(); }

 protected:
  Bell bell_;
};

// Makers of jobs. `options` is the text of a JSON object. Errors: kInvalidArgument names the field,
// and those of the model.
using OpenJob = Result<std::unique_ptr<Job>>(std::shared_ptr<Engine> engine,
                                             std::string_view options);
// Bodies of the HTTP API and their answers.
OpenJob open_embeddings, open_rerank, open_classify, open_score;
// {"text", "window"?, "stride"?} -> {"tokens", "bytes", "windows", "log_likelihood", "perplexity",
// "bits_per_byte"}
OpenJob open_perplexity;
// The batch runner: lines of its input, and of its output.
OpenJob open_batch;

}  // namespace pando::capi
