#include "model/checkpoint.h"

#include <gtest/gtest.h>

#include <cstring>

#include "model/test_files.h"

namespace pando::model {
namespace {

// One f32 tensor [2, 2] named `name`.
std::string one_tensor(const std::string& name, std::string_view data = "0123456789abcdef") {
  return safetensors_bytes(
      "{\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]}}", data);
}

class CheckpointTest : public ::testing::Test {
 protected:
  Error open_error() const {
    const Result<Checkpoint> checkpoint = Checkpoint::open(folder_.path());
    EXPECT_FALSE(checkpoint.ok());
    return checkpoint.ok() ? Error{} : checkpoint.error();
  }
  void write_index(std::string_view weight_map) const {
    folder_.write("model.safetensors.index.json",
                  "{\"metadata\":{},\"weight_map\":" + std::string(weight_map) + "}");
  }

  const TemporaryFolder folder_;
};

bool holds(const Error& error, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words)
    if (error.message().find(word) == std::string::npos) return false;
  return true;
}

TEST_F(CheckpointTest, GivesTensorsOfOneFile) {
  // A header of a length that leaves tensors aligned, as every writer makes it.
  std::string header =
      R"({"w":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},
          "i":{"dtype":"I32","shape":[1],"data_offsets":[12,16]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  folder_.write("model.safetensors", safetensors_bytes(header, "0123456789abcdef"));
  const auto checkpoint = Checkpoint::open(folder_.path());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message();
  EXPECT_EQ(checkpoint->names(), (std::vector<std::string>{"i", "w"}));
  EXPECT_TRUE(checkpoint->contains("w"));
  const auto w = checkpoint->tensor("w", {2, 3});
  ASSERT_TRUE(w.ok()) << w.error().message();
  EXPECT_EQ(w->dtype, DType::kBF16);
  EXPECT_EQ(w->n_bytes, 12u);
  checkpoint->release(*w, 0, w->n_bytes);
  EXPECT_EQ(std::memcmp(w->data, "0123456789ab", 12), 0);

  const Error shape = checkpoint->tensor("w", {3, 2}).error();
  EXPECT_TRUE(holds(shape, {"model.safetensors", "'w'", "[2, 3]", "[3, 2]"})) << shape.message();
  EXPECT_FALSE(checkpoint->tensor("w", {6}).ok());
  const Error dtype = checkpoint->tensor("i", {1}).error();
  EXPECT_EQ(dtype.code, ErrorCode::kUnsupported);
  EXPECT_TRUE(holds(dtype, {"'i'", "I32", "F32"})) << dtype.message();
  const Error absent = checkpoint->tensor("lm_head.weight", {5, 2}).error();
  EXPECT_EQ(absent.code, ErrorCode::kBadFile);
  EXPECT_TRUE(holds(absent, {"model.safetensors", "'lm_head.weight'", "[5, 2]"})) << absent.message();
}

// The first row stays. Behind it the file has blocks of two times three runs of two rows.
TEST(RowOrder, FindsRowsInTheFile) {
  const RowOrder order = {.first = 1, .groups = 2, .runs = {2, 2, 2}};
  std::vector<int64_t> stored;
  for (int64_t row = 0; row < 25; ++row) stored.push_back(order.stored(row));
  EXPECT_EQ(stored, (std::vector<int64_t>{0,  1,  2,  7,  8,  3,  4,  9,  10, 5,  6,  11, 12,
                                          13, 14, 19, 20, 15, 16, 21, 22, 17, 18, 23, 24}));
  EXPECT_EQ(RowOrder().stored(7), 7);
  // Two groups of one row and three, as two rows and six.
  const RowOrder uneven = {.groups = 2, .runs = {1, 3}};
  stored.clear();
  for (int64_t row = 0; row < 9; ++row) stored.push_back(uneven.stored(row));
  EXPECT_EQ(stored, (std::vector<int64_t>{0, 4, 1, 2, 3, 5, 6, 7, 8}));
  // Channels i and i + 4 of a head of 8 are neighbours.
  const RowOrder pairs = RowOrder::pairs(8);
  stored.clear();
  for (int64_t row = 0; row < 10; ++row) stored.push_back(pairs.stored(row));
  EXPECT_EQ(stored, (std::vector<int64_t>{0, 2, 4, 6, 1, 3, 5, 7, 8, 10}));
  // Only the first 4 of a head's 6 channels rotate.
  const RowOrder some = RowOrder::pairs(6, 4);
  stored.clear();
  for (int64_t row = 0; row < 12; ++row) stored.push_back(some.stored(row));
  EXPECT_EQ(stored, (std::vector<int64_t>{0, 2, 1, 3, 4, 5, 6, 8, 7, 9, 10, 11}));
}

TEST_F(CheckpointTest, GivesTensorsAtAnyByte) {
  const std::string header = R"({"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";
  folder_.write(
      "model.safetensors",
      safetensors_bytes(header + std::string(9 - header.size() % 8, ' '), "0123456789abcdef"));
  const auto checkpoint = Checkpoint::open(folder_.path());
  ASSERT_TRUE(checkpoint.ok());
  const auto w = checkpoint->tensor("w", {2, 2});
  ASSERT_TRUE(w.ok()) << w.error().message();
  EXPECT_NE(reinterpret_cast<uintptr_t>(w->data) % 4, 0u);
  EXPECT_EQ(std::memcmp(w->data, "0123456789abcdef", 16), 0);
}

TEST_F(CheckpointTest, FindsTensorsInShards) {
  folder_.write("one.safetensors", one_tensor("a"));
  folder_.write("two.safetensors", one_tensor("b", "ABCDEFGHIJKLMNOP"));
  write_index(R"({"a":"one.safetensors","b":"two.safetensors"})");
  auto opened = Checkpoint::open(folder_.path());
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  const Checkpoint checkpoint = std::move(opened).value();
  const auto b = checkpoint.tensor("b", {2, 2});
  ASSERT_TRUE(b.ok()) << b.error().message();
  EXPECT_EQ(std::memcmp(b->data, "ABCD", 4), 0);
  checkpoint.release(*b, 0, b->n_bytes);
  const Error absent = checkpoint.tensor("c", {1}).error();
  EXPECT_TRUE(holds(absent, {"index.json", "'c'"})) << absent.message();
}

TEST_F(CheckpointTest, FindsTensorsThatTheIndexDoesNotName) {
  const std::string two = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                          R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})";
  folder_.write("one.safetensors", safetensors_bytes(two, "0123abcd"));
  write_index(R"({"a":"one.safetensors"})");
  const auto checkpoint = Checkpoint::open(folder_.path());
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.error().message();
  EXPECT_EQ(checkpoint->names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(std::memcmp(checkpoint->tensor("b", {1})->data, "abcd", 4), 0);

  // A name in two files: the index decides.
  folder_.write("two.safetensors", safetensors_bytes(two, "4567efgh"));
  write_index(R"({"a":"one.safetensors","b":"two.safetensors"})");
  const auto decided = Checkpoint::open(folder_.path());
  ASSERT_TRUE(decided.ok()) << decided.error().message();
  EXPECT_EQ(std::memcmp(decided->tensor("a", {1})->data, "0123", 4), 0);
  EXPECT_EQ(std::memcmp(decided->tensor("b", {1})->data, "efgh", 4), 0);
}

TEST_F(CheckpointTest, RefusesATensorInTwoFilesThatTheIndexDoesNotName) {
  const std::string both = R"({"NAME":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                           R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})";
  const auto with = [&](const std::string& name) {
    std::string header = both;
    return safetensors_bytes(header.replace(header.find("NAME"), 4, name), "0123abcd");
  };
  folder_.write("one.safetensors", with("a"));
  folder_.write("two.safetensors", with("c"));
  write_index(R"({"a":"one.safetensors","c":"two.safetensors"})");
  EXPECT_EQ(open_error().code, ErrorCode::kBadFile);
  EXPECT_TRUE(holds(open_error(), {"'b'", "one.safetensors", "two.safetensors"}))
      << open_error().message();
}

TEST_F(CheckpointTest, SaysWhatIsThereInsteadOfWeights) {
  folder_.write("model-00001-of-00002.safetensors", one_tensor("a"));
  EXPECT_TRUE(holds(open_error(), {"has no weights, expected model.safetensors or "}))
      << open_error().message();
  folder_.write("pytorch_model.bin", "PK");
  EXPECT_EQ(open_error().code, ErrorCode::kUnsupported);
  EXPECT_TRUE(holds(open_error(), {"pytorch_model.bin", "PyTorch", "safetensors"}))
      << open_error().message();
  folder_.write("model.safetensors",
                "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1234\n");
  EXPECT_EQ(open_error().code, ErrorCode::kBadFile);
  EXPECT_TRUE(holds(open_error(), {"model.safetensors", "Git LFS pointer"}))
      << open_error().message();
}

TEST_F(CheckpointTest, NamesWhatIsMissing) {
  EXPECT_EQ(Checkpoint::open(folder_.path() / "absent").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(open_error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(holds(open_error(), {"model.safetensors", "index.json"})) << open_error().message();
  folder_.write("one.safetensors", one_tensor("a"));
  write_index(R"({"a":"one.safetensors","b":"two.safetensors"})");
  EXPECT_EQ(open_error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(holds(open_error(), {"two.safetensors", "index.json"})) << open_error().message();
  folder_.write("two.safetensors", one_tensor("c"));
  EXPECT_EQ(open_error().code, ErrorCode::kBadFile);
  EXPECT_TRUE(holds(open_error(), {"two.safetensors", "'b'", "index.json"}))
      << open_error().message();
  folder_.write("two.safetensors", "cut short");
  EXPECT_EQ(open_error().code, ErrorCode::kBadFile);
}

// No other weights are taken instead.
TEST_F(CheckpointTest, NamesBrokenLinks) {
  folder_.write("one.safetensors", one_tensor("a"));
  write_index(R"({"a":"one.safetensors"})");
  ASSERT_TRUE(Checkpoint::open(folder_.path()).ok());
  for (const char* name : {"model.safetensors.index.json", "model.safetensors"}) {
    std::filesystem::remove(folder_.path() / name);
    std::filesystem::create_symlink("nowhere", folder_.path() / name);
    EXPECT_EQ(open_error().code, ErrorCode::kIo);
    EXPECT_TRUE(holds(open_error(), {name, "is a broken link to 'nowhere'"}))
        << open_error().message();
    std::filesystem::remove(folder_.path() / name);
    write_index(R"({"a":"one.safetensors"})");
  }
}

TEST_F(CheckpointTest, RefusesBadIndexes) {
  folder_.write("one.safetensors", one_tensor("a"));
  for (const char* map : {"3", "[]", R"({"a":3})", R"({"a":""})", R"({"a":"../one.safetensors"})",
                          R"({"a":"/etc/passwd"})", R"({"a":".."})", R"({"a":"."})",
                          R"({"a":"one.safetensors","a":"one.safetensors"})"}) {
    write_index(map);
    EXPECT_EQ(open_error().code, ErrorCode::kBadFile) << map << ": " << open_error().message();
  }
  folder_.write("model.safetensors.index.json", "{}");
  EXPECT_TRUE(holds(open_error(), {"index.json", "weight_map", "absent"})) << open_error().message();
}

}  // namespace
}  // namespace pando::model
