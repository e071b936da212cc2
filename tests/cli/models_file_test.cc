// pando serve --models: the file, and what is refused.
#include <gtest/gtest.h>

#include <string>

#include "cli/process.h"

namespace pando::testing {
namespace {

class ModelsFileTest : public ProcessTest {
 protected:
  std::string refused(const std::string& file, const std::string& more = "") {
    folder().write("models.toml", file);
    const Finished finished = pando("serve --models models.toml --port 0 " + more);
    EXPECT_NE(finished.code, 0);
    return finished.err;
  }
  void expect(const std::string& file, const std::string& message) {
    const std::string said = refused(file);
    EXPECT_NE(said.find(message), std::string::npos) << said;
  }
};

TEST_F(ModelsFileTest, WrongFilesAreRefusedWithTheLine) {
  expect("", "'models.toml' has no model, expected a table such as [models.chat]");
  expect("[serve]\nport = 1\n", "line 1: 'serve' is no part of this file, expected [models.NAME]");
  expect("[models.a]\nmodel = 'm'\ncontext = -1\n", "line 3: ");
  expect("[models.a]\nmodel = 'm'\nport = 1\n", "line 3: ");
  expect("[models.a]\ncontext = 8\n", "line 1: the table has no 'model'");
  expect("[models]\na = 'm'\n", "line 2: 'a' is 'm', expected a section");
}

TEST_F(ModelsFileTest, OptionsOfOneModelAreRefused) {
  const std::string file = "[models.a]\nmodel = 'm'\n";
  for (const char* option : {"--model m", "--kv-memory 64MiB", "--model-name b"})
    EXPECT_NE(refused(file, option).find("--models"), std::string::npos) << option;
  EXPECT_NE(pando("serve --memory 1GiB --port 0").err.find("--models"), std::string::npos);
}

}  // namespace
}  // namespace pando::testing
