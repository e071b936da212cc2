// Reasoning of answers, and budgets for it.
#include "engine/scripted_answers.h"

namespace pando::testing::scripted {
namespace {

TEST(Calls, ReasoningComesApart) {
  const Told own = told("<think>Why?</think>\n\nSunny.", asked(kAsked, /*offers=*/false));
  EXPECT_EQ(own.reasoning, "Why?");
  EXPECT_EQ(own.text, "Sunny.");
  const Told begun = told("Why?</think>" + kParis, asked(kAsked + "<think>"));
  EXPECT_EQ(begun.reasoning, "Why?");
  EXPECT_EQ(begun.text, "");
  EXPECT_EQ(begun.calls.size(), 1u);
}

// The script goes on at the same positions, whatever was forced.
TEST(Calls, ABudgetEndsTheReasoning) {
  const std::string end = "</think>", script = "0123456789abcdefghijklmnopqrstuvw.";
  for (const int budget : {0, 1, 5}) {
    Request request = asked(kAsked + "<think>", /*offers=*/false);
    request.thinking_budget = budget;
    const Told all = told(script, request);
    const auto n = static_cast<size_t>(budget);
    EXPECT_EQ(all.reasoning, script.substr(0, n)) << budget;
    EXPECT_EQ(all.text, script.substr(n + end.size())) << budget;
    EXPECT_EQ(all.completion.tokens,
              tokens_of(script.substr(0, n) + end + script.substr(n + end.size()) + "<|return|>"));

    request.sampling.max_tokens = budget + 3;  // it may end inside the forced text
    const Told cut = told(script, request);
    EXPECT_EQ(cut.completion.finish_reason, FinishReason::kLength);
    EXPECT_EQ(cut.completion.tokens, tokens_of(script.substr(0, n) + end.substr(0, 3)));
  }
}

// Rows of forced tokens are computed together or one by one.
TEST(Calls, ABudgetChangesNoRow) {
  for (const int budget : {0, 3}) {
    Request request = asked(kAsked + "<think>", /*offers=*/false);
    request.thinking_budget = budget;
    request.logits_hash = true;
    const std::string script = "0123456789abcdefghijklmnopqrstuvw.";
    const Told together = told(script, request), apart = told(script, request, format(), false);
    EXPECT_EQ(together.completion.tokens, apart.completion.tokens);
    EXPECT_EQ(together.completion.logits_hash, apart.completion.logits_hash);
    EXPECT_EQ(together.text, apart.text);
  }
}

TEST(Calls, BudgetsKeepApartInCompany) {
  const std::string script = "0123456789abcdefghijklmnopqrstuvw.";
  const auto with_budget = [&](int budget) {
    Request request = asked(kAsked + "<think>", /*offers=*/false);
    request.id = std::to_string(budget);
    request.thinking_budget = budget;
    request.sampling.n = 2;
    request.logits_hash = true;
    return request;
  };
  constexpr int kBudgets = 6;
  const std::unique_ptr<EngineLoop> loop = loop_of(script, with_budget(0), format(), true);
  std::vector<std::vector<Completion>> together(kBudgets);
  for (int budget = 0; budget < kBudgets; ++budget) {
    const Status status = loop->submit(static_cast<RequestId>(budget + 1), with_budget(budget),
                                       [&, budget](const Event& event) {
                                         ASSERT_FALSE(event.error) << event.error->message();
                                         if (event.completion)
                                           together[budget].push_back(*event.completion);
                                       });
    EXPECT_TRUE(status.ok()) << status.error().message();
  }
  for (int i = 0; i < 2000 && loop->step(); ++i) loop->deliver_events();
  loop->deliver_events();
  for (int budget = 0; budget < kBudgets; ++budget) {
    Request request = with_budget(budget);
    request.sampling.n = 1;
    const Completion alone = told(script, std::move(request)).completion;
    ASSERT_EQ(together[budget].size(), 2u);
    for (const Completion& one : together[budget]) {
      EXPECT_EQ(one.tokens, alone.tokens) << budget;
      EXPECT_EQ(one.logits_hash, alone.logits_hash) << budget;
      EXPECT_EQ(one.reasoning, alone.reasoning) << budget;
    }
  }
}

TEST(Calls, ABudgetNeedsMarks) {
  const auto refused = [](Request request) {
    request.thinking_budget = request.thinking_budget.value_or(4);
    const std::unique_ptr<EngineLoop> loop = loop_of("x", request, format(), true);
    const Status status = loop->check(request);
    EXPECT_FALSE(status.ok());
    return status.ok() ? Error{} : status.error();
  };
  Request prompt = asked(kAsked, /*offers=*/false);
  prompt.messages.clear();
  EXPECT_EQ(refused(prompt).place.field, "thinking_budget");
  Request negative = asked(kAsked, /*offers=*/false);
  negative.thinking_budget = -1;
  EXPECT_EQ(refused(negative).message(), "thinking_budget is -1, expected 0 or more");
}

TEST(Calls, ABudgetCountsReasoningAlone) {
  Request request = asked(kAsked, /*offers=*/false);
  request.thinking_budget = 4;
  const Told within = told("<think>Why?</think>\n\nA long and sunny day.", request);
  EXPECT_EQ(within.reasoning, "Why?");
  EXPECT_EQ(within.text, "A long and sunny day.");
  const Told without = told("A long and sunny day.", request);
  EXPECT_EQ(without.text, "A long and sunny day.");
  const Told longer = told("<think>Why not?????????Sunny.", request);
  EXPECT_EQ(longer.reasoning, "Why");
  EXPECT_EQ(longer.text, "????Sunny.");
}

TEST(Calls, AFormBeginsBehindABudget) {
  Request request = asked(kAsked + "<think>", /*offers=*/false);
  request.thinking_budget = 2;
  request.sampling.form = {.kind = TextForm::Kind::kRegex, .text = "[0-9]{3}"};
  const Told all = told("ab________x23", std::move(request));
  EXPECT_EQ(all.reasoning, "ab");
  EXPECT_EQ(all.text, "023");  // the likeliest token does not fit the form
  EXPECT_EQ(all.completion.finish_reason, FinishReason::kStop);
}

TEST(Calls, AFormBeginsBehindTheReasoning) {
  Request request = asked(kAsked + "<think>", /*offers=*/false);
  request.sampling.form = {.kind = TextForm::Kind::kRegex, .text = "[0-9]{3}"};
  const Told all = told("Which?</think>123", std::move(request));
  EXPECT_EQ(all.reasoning, "Which?");
  EXPECT_EQ(all.text, "123");
}

}  // namespace
}  // namespace pando::testing::scripted
