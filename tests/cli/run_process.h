// `pando run` over files that its tests share.
#pragma once

#include <algorithm>
#include <string>

#include "cli/process.h"

namespace pando::testing {

constexpr int kOk = 0, kFailed = 1, kUsage = 2, kIncomplete = 3;  // src/cli/exit_code.h

class RunProcess : public ProcessTest {
 protected:
  static void SetUpTestSuite() {
    ProcessTest::SetUpTestSuite();
    folder().write("good.jsonl", kThreeQuestions);
    folder().write("bad.jsonl", "{\"prompt\": \"fine\"}\nnot json\n");
    folder().write("long.jsonl",
                   "{\"prompt\": \"" + std::string(700, 'x') + "\"}\n{\"prompt\": \"fine\"}\n");
    folder().write("empty.jsonl", "");
  }

  static int64_t n_lines(const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  }
};

}  // namespace pando::testing
