// Shared by the tests of text/grammar.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/matcher.h"

namespace pando::testing {

// The grammar, or a failed test with the error's message.
inline grammar::GrammarPtr compiled(Result<grammar::GrammarPtr> grammar) {
  if (grammar.ok()) return std::move(*grammar);
  ADD_FAILURE() << grammar.error().message();
  return nullptr;
}

inline bool reads(const grammar::GrammarPtr& grammar, std::string_view text) {
  if (grammar == nullptr) return false;
  const auto allowed = grammar::allows(grammar, text);
  if (!allowed) ADD_FAILURE() << allowed.error().message();
  return allowed.ok() && *allowed;
}

inline void expect_reads(const grammar::GrammarPtr& grammar, const std::vector<std::string>& yes,
                         const std::vector<std::string>& no) {
  for (const std::string& text : yes) EXPECT_TRUE(reads(grammar, text)) << text;
  for (const std::string& text : no) EXPECT_FALSE(reads(grammar, text)) << text;
}

// Expects a refusal with a message that contains `names`.
inline void expect_grammar_refused(const Result<grammar::GrammarPtr>& grammar, ErrorCode code,
                                   const std::string& names) {
  ASSERT_FALSE(grammar.ok()) << "expected a refusal with: " << names;
  EXPECT_EQ(error_code_name(grammar.error().code), std::string(error_code_name(code)));
  EXPECT_NE(grammar.error().message().find(names), std::string::npos) << grammar.error().message();
}

}  // namespace pando::testing
