// Work in a process of its own.
#include "lab/papers/own_process.h"

#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>

#include "base/errors.h"
#include "lab/experiment.h"

namespace pando::lab {
namespace {

TEST(OwnProcess, ReturnsWhatTheWorkDoesAndChangesNothingHere) {
  int here = 1;
  const std::string longer_than_a_pipe_holds(200'000, 'x');
  const nlohmann::json answer = in_own_process([&]() -> nlohmann::json {
    here = 2;
    return {{"there", here}, {"text", longer_than_a_pipe_holds}};
  });
  EXPECT_EQ(answer.at("there"), 2);
  EXPECT_EQ(answer.at("text"), longer_than_a_pipe_holds);
  EXPECT_EQ(here, 1);
}

Error error_of(FunctionRef<nlohmann::json()> work) {
  try {
    in_own_process(work);
  } catch (const BenchmarkError& error) {
    return error.error;
  }
  return {};
}

TEST(OwnProcess, SaysWhatWentWrong) {
  const Error of_work =
      error_of([]() -> nlohmann::json { throw BenchmarkError(not_found("no such \xff model")); });
  EXPECT_EQ(of_work.message(), "no such \ufffd model");
  EXPECT_EQ(of_work.code, ErrorCode::kNotFound);
  const Error of_end = error_of([]() -> nlohmann::json {
    std::raise(SIGKILL);
    return {};
  });
  EXPECT_EQ(of_end.message(), "the process of a measurement ended with status 137");
  EXPECT_EQ(of_end.code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace pando::lab
