#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "model/families/shapes.h"
#include "model/family.h"
#include "model/make_model.h"
#include "model/weight_specs.h"

namespace pando::model {
namespace {

TEST(Families, AreFoundByName) {
  std::set<std::string> names, architectures;
  for (const Family* family : families()) {
    EXPECT_TRUE(names.insert(family->name).second) << family->name;
    EXPECT_TRUE(architectures.insert(family->architecture).second) << family->architecture;
    EXPECT_EQ(find_family(family->name), family);
  }
  EXPECT_EQ(find_family("gpt2"), nullptr);
  EXPECT_EQ(find_family(""), nullptr);
}

// Two tensors of one name would be one tensor read twice.
TEST(Families, NameEachTensorOnceInEachFormat) {
  for (const Family* family : families()) {
    const auto tiny = std::ranges::find_if(shape_rows(), [&](const ShapeRow& row) {
      return row.name.starts_with("tiny-") && row.family == std::string_view(family->name);
    });
    ASSERT_NE(tiny, shape_rows().end()) << family->name;
    const Result<ModelConfig> config = named_shape(tiny->name);
    ASSERT_TRUE(config.ok()) << config.error().message();
    EXPECT_EQ(config->family, family);
    std::set<std::string> names, gguf_names;
    int of_no_layer = 0;
    for (const WeightSpec& spec : weight_specs(*config)) {
      EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
      for (const WeightSpec& stored : gguf_tensors_of(spec)) {
        if (family->gguf_architecture == nullptr) continue;
        EXPECT_TRUE(gguf_names.insert(stored.gguf_name).second) << stored.gguf_name;
      }
      const size_t n_sizes = spec.shape.size() - (is_of_experts(spec.role) ? 1 : 0);
      EXPECT_TRUE(n_sizes == 1 || n_sizes == 2 || (n_sizes == 3 && spec.shape[1] == 1))
          << spec.name;
      of_no_layer += spec.role <= Role::kHeadBias;
    }
    const int n_inputs = config->layer_input_dim > 0 ? 3 : 0;
    const int n_tables = (config->n_learned_positions > 0) + (config->n_token_types > 0);
    const int n_norms = config->final_norm + config->embedding_norm;
    const int n_heads = config->tied_embeddings || config->both_ways ? 0 : 1;
    EXPECT_EQ(of_no_layer, 1 + n_inputs + n_tables + n_norms * (config->norm_bias ? 2 : 1) +
                               n_heads + (config->head_bias ? 1 : 0))
        << family->name;
    names.clear();
    for (const WeightSpec& spec : checkpoint_specs(*config))
      EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
  }
}

std::vector<std::string> lines_of(const char* page) {
  std::ifstream file(std::string(PANDO_SOURCE_DIR) + "/docs/" + page);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// Words between backquotes in a cell of a row of a table.
std::set<std::string> words_in(const std::string& row, int cell) {
  std::vector<std::string> cells;
  std::istringstream in(row);
  for (std::string one; std::getline(in, one, '|');) cells.push_back(one);
  std::set<std::string> words;
  std::istringstream text(cells.at(cell));
  bool is_word = false;
  for (std::string part; std::getline(text, part, '`'); is_word = !is_word)
    if (is_word) words.insert(part);
  return words;
}

// The first table of docs/models.md: | family | GGUF architecture | ...
TEST(Families, AreListedInTheDocuments) {
  std::set<std::string> listed;
  bool is_in_table = false;
  for (const std::string& line : lines_of("models.md")) {
    const bool was_in_table = is_in_table;
    is_in_table = line.starts_with("| family | GGUF architecture |") ||
                  (is_in_table && line.starts_with('|'));
    if (was_in_table && !is_in_table) break;
    if (!was_in_table || line.starts_with("|---")) continue;
    std::set<std::string> words = words_in(line, 1), architectures;
    words.erase("text_config");
    for (const std::string& word : std::set<std::string>(words)) {
      const Family* family = find_family(word);
      if (family == nullptr) continue;
      EXPECT_TRUE(listed.insert(word).second) << word;
      words.erase(word);
      if (family->wrapper != nullptr) {
        EXPECT_EQ(words.erase(family->wrapper), 1u) << word;
      }
      for (const char* one : {family->gguf_architecture, family->other_gguf_architecture}) {
        if (one != nullptr) architectures.insert(one);
      }
    }
    EXPECT_TRUE(words.empty()) << line;
    EXPECT_EQ(words_in(line, 2), architectures) << line;
  }
  std::set<std::string> all;
  for (const Family* family : families()) all.insert(family->name);
  EXPECT_EQ(listed, all);
}

}  // namespace
}  // namespace pando::model
