// The program, run as a user would.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/tiny_engine.h"
#include "model/test_files.h"

namespace pando::testing {

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Finished {
  int code = -1;  // 128 and more where a signal ended it
  std::string out, err;

  bool says(const std::string& text) const { return err.find(text) != std::string::npos; }
};

inline std::ostream& operator<<(std::ostream& stream, const Finished& finished) {
  return stream << "code " << finished.code << ", out '" << finished.out << "', err '"
                << finished.err << "'";
}

// Input of two lines: a context with two questions, one of them with its answer, and a prompt.
inline constexpr const char* kThreeQuestions =
    "{\"id\": \"d\", \"context\": \"Some context.\", \"questions\": [\"One?\", "
    "{\"text\": \"Two?\", \"answers\": [\"2\"]}]}\n{\"id\": 5, \"prompt\": \"A prompt.\"}\n";

// A folder with a model `m` and files written by the test; commands run inside it, under a shell.
class ProcessTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    RandomModelOptions options;
    options.out = folder().path() / "m";
    options.max_positions = kTinyContext;
    ASSERT_TRUE(make_random_model(options).ok());
  }

  static TemporaryFolder& folder() {
    static TemporaryFolder folder;
    return folder;
  }
  static std::filesystem::path at(const std::string& name) { return folder().path() / name; }

  // `arguments` may redirect, but not stderr.
  Finished pando(const std::string& arguments, const std::string& before = "") {
    const std::string command = "cd '" + folder().path().string() + "' && " + before +
                                "'" PANDO_BINARY "' " + arguments + " 2> stderr.txt" +
                                (arguments.find('>') == std::string::npos ? " > stdout.txt" : "");
    std::ofstream(at("stdout.txt"));
    const int status = std::system(command.c_str());
    Finished finished{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                      contents(at("stdout.txt")), contents(at("stderr.txt"))};
    EXPECT_LT(finished.code, 126) << arguments << ": " << finished;
    return finished;
  }

  // With what every run needs.
  Finished run(const std::string& arguments, const std::string& before = "") {
    return pando(
        "run --model m --threads 1 --kv-memory 64MiB --max-tokens 4 --ignore-eos " + arguments,
        before);
  }

  // Returns what bash offers for the last word, by a file pando.bash of `pando completion bash`.
  std::string completed(const std::string& words) {
    folder().write("complete.sh", "source pando.bash\nCOMP_WORDS=(" + words +
                                      ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_pando\n"
                                      "echo \"${COMPREPLY[@]}\" > completed.txt\n");
    EXPECT_EQ(std::system(("cd '" + folder().path().string() + "' && bash complete.sh").c_str()),
              0);
    return contents(at("completed.txt"));
  }
};

}  // namespace pando::testing
