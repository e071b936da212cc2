// A path shares the files that were opened through it.
#include "base/model_path.h"

#include <gtest/gtest.h>

#include "base/gguf.h"
#include "base/gguf_writer.h"
#include "base/mapped_file.h"
#include "model/test_files.h"

namespace pando {
namespace {

using testing::GgufWriter;

TEST(ModelPath, OpensAFileOnceForAllThatComeFromIt) {
  const TemporaryFolder folder;
  folder.write("a.json", "{}");
  const ModelPath path(folder.path());
  const auto file = (path / "a.json").file();
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_EQ((*file)->text(), "{}");
  EXPECT_EQ(*path.at("elsewhere").at(folder.path() / "a.json").file(), *file);
  EXPECT_NE(*ModelPath(folder.path() / "a.json").file(), *file);
  path.close();
  EXPECT_EQ((*file)->text(), "{}");
  EXPECT_NE(*(path / "a.json").file(), *file);
}

TEST(ModelPath, KeepsATextAsItWasRead) {
  const TemporaryFolder folder;
  folder.write("a.json", "{\"a\": 1}");
  const ModelPath path(folder.path() / "a.json");
  EXPECT_EQ(*path.text(), "{\"a\": 1}");
  folder.write("a.json", "{}");
  EXPECT_EQ(*ModelPath(path).text(), "{\"a\": 1}");
  EXPECT_EQ(*ModelPath(path.path()).text(), "{}");
  path.close();
  EXPECT_EQ(*path.text(), "{}");
  EXPECT_EQ(path.at("/nowhere").text().error().code, ErrorCode::kNotFound);
}

TEST(ModelPath, ParsesAGgufFileOnce) {
  const TemporaryFolder folder;
  const ModelPath path(folder.write("m.gguf", GgufWriter().string("key", "value").bytes()));
  const auto gguf = path.gguf();
  ASSERT_TRUE(gguf.ok()) << gguf.error().message();
  EXPECT_EQ((*gguf)->string("key").value(), "value");
  EXPECT_EQ(*ModelPath(path).gguf(), *gguf);
}

TEST(ModelPath, KeepsAnErrorToo) {
  const TemporaryFolder folder;
  const ModelPath path(folder.path() / "a.json");
  EXPECT_EQ(path.file().error().code, ErrorCode::kNotFound);
  EXPECT_EQ(path.gguf().error().code, ErrorCode::kNotFound);
  folder.write("a.json", "{}");
  EXPECT_EQ(path.file().error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(ModelPath(path.path()).file().ok());
}

}  // namespace
}  // namespace pando
