#include "lab/papers/own_process.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "base/errors.h"
#include "lab/experiment.h"

namespace pando::lab {
namespace {

nlohmann::json answer_of(FunctionRef<nlohmann::json()> work) {
  try {
    return {{"result", work()}};
  } catch (const BenchmarkError& error) {
    return {{"error", error.error.message()}, {"code", error.error.code}};
  } catch (const std::exception& error) {
    return {{"error", error.what()}, {"code", ErrorCode::kUnavailable}};
  }
}

// Never returns: what the parent has open, and its destructors, are the parent's.
[[noreturn]] void work_and_exit(FunctionRef<nlohmann::json()> work, int result) noexcept {
  const std::string text =
      answer_of(work).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = write(result, text.data() + at, text.size() - at);
    if (n < 0) _exit(1);
    at += static_cast<size_t>(n);
  }
  _exit(0);
}

std::string all_of(int file) {
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(file, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  return text;
}

}  // namespace

nlohmann::json in_own_process(FunctionRef<nlohmann::json()> work) {
  int ends[2];
  if (pipe(ends) != 0) throw BenchmarkError(io_error("cannot make a pipe"));
  std::fflush(nullptr);  // else both processes print what is in buffers
  const pid_t parent = getpid(), child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody would wait for it
    if (getppid() != parent) _exit(1);
    close(ends[0]);
    work_and_exit(work, ends[1]);
  }
  close(ends[1]);
  const std::string text = all_of(ends[0]);
  close(ends[0]);
  if (child < 0) throw BenchmarkError(io_error("cannot start a process"));
  int status = 0;
  waitpid(child, &status, 0);
  nlohmann::json answer = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object())
    throw BenchmarkError(
        make_error(ErrorCode::kUnavailable, "the process of a measurement ended with status {}",
                   WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status)));
  if (answer.contains("error"))
    throw BenchmarkError({answer.at("code").get<ErrorCode>(), answer["error"].get<std::string>()});
  return answer.at("result");
}

}  // namespace pando::lab
