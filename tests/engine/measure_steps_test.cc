#include "engine/measure_steps.h"

#include <gtest/gtest.h>

#include "engine/test_loop.h"

namespace pando::testing {
namespace {

TEST(MeasureSteps, GivesCostsThatAnEngineTakes) {
  const Model::Parts& parts = tiny_model()->parts();
  const Result<MeasuredSteps> measured = measure_steps(parts.weights, tiny_options(), 1);
  ASSERT_TRUE(measured.ok());
  EXPECT_GT(measured->report.n_samples, 30u);
  EXPECT_GT(measured->report.n_repeats, 10u);
  EXPECT_GT(measured->predictor.seconds({.rows = 1}), 0);
  EXPECT_GT(measured->predictor.seconds({.rows = 512}), measured->predictor.seconds({.rows = 8}));
  LoopOptions options = tiny_loop_options();
  options.engine.policy = "lars";
  options.engine.step_budget = 1e-3;
  options.engine.step_costs = measured->predictor.to_json();
  TestLoop loop(options);
  const Request request = tiny_request("a prompt for an engine that goes by time");
  ASSERT_TRUE(loop.submit(1, request).ok());
  loop.run();
  EXPECT_EQ(loop.answers(1), answers_alone(request));
}

TEST(MeasureSteps, StopsInTime) {
  const Model::Parts& parts = tiny_model()->parts();
  const Result<MeasuredSteps> measured = measure_steps(parts.weights, tiny_options(), 0);
  ASSERT_TRUE(measured.ok());
  EXPECT_EQ(measured->report.n_samples, 1u);
}

}  // namespace
}  // namespace pando::testing
