// Jobs of pando.h.
#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/errors.h"
#include "base/nearest.h"
#include "capi/handles.h"
#include "capi/job.h"
#include "capi/status.h"

using namespace pando;
using namespace pando::capi;

struct pando_job {
  const pid_t process = getpid();
  std::unique_ptr<Job> job;
  std::string json = {};  // the last result
};

namespace pando::capi {

Result<bool> Job::put(std::string_view) {
  return invalid_argument("the job takes no lines, expected a batch");
}

Status Job::end_input() { return put({}).error(); }

namespace {

struct JobTask {
  std::string_view name;
  OpenJob* open;
};
constexpr JobTask kJobTasks[] = {{"embeddings", open_embeddings}, {"rerank", open_rerank},
                                 {"classify", open_classify},     {"score", open_score},
                                 {"perplexity", open_perplexity}, {"batch", open_batch}};

Result<OpenJob*> job_opener(std::string_view name) {
  std::array<std::string_view, std::size(kJobTasks)> names;
  for (size_t i = 0; i < names.size(); ++i) {
    if (kJobTasks[i].name == name) return kJobTasks[i].open;
    names[i] = kJobTasks[i].name;
  }
  return blame("task", invalid_argument("the task '{}' is unknown, expected {}", one_line(name),
                                        one_of_these(names)));
}

pando_status next_result(pando_job* job, Deadline deadline, const char** json, size_t* size) {
  const Result<What> what = job->job->next(deadline, job->json);
  if (!what) return fail(what.error());
  if (*what == What::kTimeout) return PANDO_TIMEOUT;
  if (*what == What::kEnd) return PANDO_END;
  if (*what == What::kCancelled) return PANDO_CANCELLED;
  *json = job->json.c_str();
  if (size != nullptr) *size = job->json.size();
  return PANDO_OK;
}

}  // namespace
}  // namespace pando::capi

pando_status pando_job_open(pando_engine* engine, const char* task, const char* options,
                            pando_job** job) {
  return guarded([&] {
    if (Status status = check_handle(engine, "engine"); !status) return fail(status.error());
    if (task == nullptr) return fail(null_argument("task"));
    if (job == nullptr) return fail(null_argument("job"));
    const Result<OpenJob*> opener = job_opener(task);
    if (!opener) return fail(opener.error());
    Result<std::unique_ptr<Job>> opened = (*opener)(engine->engine, or_empty(options));
    if (!opened) return fail(opened.error());
    *job = new pando_job{.job = std::move(*opened)};
    return PANDO_OK;
  });
}

pando_status pando_job_put(pando_job* job, const char* lines, size_t size) {
  return guarded([&] {
    if (Status status = check_handle(job, "job"); !status) return fail(status.error());
    if (lines == nullptr) return status_of(job->job->end_input());
    const Result<bool> took = job->job->put({lines, size});
    if (!took) return fail(took.error());
    return *took ? PANDO_OK : PANDO_TIMEOUT;
  });
}

pando_status pando_job_next(pando_job* job, double timeout_s, const char** json, size_t* size) {
  return guarded([&] {
    if (Status status = check_handle(job, "job"); !status) return fail(status.error());
    if (json == nullptr) return fail(null_argument("json"));
    return next_result(job, deadline_in(timeout_s), json, size);
  });
}

int pando_job_descriptor(pando_job* job) { return is_here(job) ? job->job->descriptor() : -1; }

void pando_job_cancel(pando_job* job) {
  guarded([&] {
    if (is_here(job)) job->job->cancel();
    return PANDO_OK;
  });
}

void pando_job_free(pando_job* job) {
  if (is_here(job)) delete job;
}

pando_status pando_run_batch(pando_engine* engine, const char* lines, size_t size,
                             const char* options, pando_on_result on_result, void* user) {
  if (lines == nullptr && size > 0) return fail(null_argument("lines"));
  if (on_result == nullptr) return fail(null_argument("on_result"));
  pando_job* opened = nullptr;
  pando_status status = pando_job_open(engine, "batch", options, &opened);
  const std::unique_ptr<pando_job, decltype(&pando_job_free)> job(opened, pando_job_free);
  if (status == PANDO_OK && size > 0) status = pando_job_put(opened, lines, size);
  if (status == PANDO_OK) status = pando_job_put(opened, nullptr, 0);
  const char* json = nullptr;
  size_t n_bytes = 0;
  while (status == PANDO_OK) {
    status = pando_job_next(opened, -1, &json, &n_bytes);
    if (status == PANDO_OK && on_result(user, json, n_bytes) != 0) return PANDO_CANCELLED;
  }
  return status == PANDO_END ? PANDO_OK : status;
}
