#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

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
    const std::vector<NamedShape> shapes = family->shapes();
    const auto tiny = std::ranges::find_if(
        shapes, [](const NamedShape& shape) { return shape.name.starts_with("tiny-"); });
    ASSERT_NE(tiny, shapes.end()) << family->name;
    const ModelConfig* config = &tiny->config;
    EXPECT_EQ(config->family, family);
    std::set<std::string> names, gguf_names;
    int without_part = 0;
    for (const WeightSpec& spec : weight_specs(*config)) {
      EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
      for (const WeightSpec& stored : gguf_tensors_of(spec)) {
        if (family->gguf_architecture == nullptr) continue;
        EXPECT_TRUE(gguf_names.insert(stored.gguf_name).second) << stored.gguf_name;
      }
      const size_t n_sizes = spec.shape.size() - (is_of_experts(spec.part) ? 1 : 0);
      EXPECT_TRUE(n_sizes == 1 || n_sizes == 2 || (n_sizes == 3 && spec.shape[1] == 1))
          << spec.name;
      without_part += spec.part == LayerPart();
    }
    const int n_inputs = config->layer_input_dim > 0 ? 3 : 0;
    EXPECT_EQ(without_part, (config->tied_embeddings ? 2 : 3) + n_inputs +
                                (config->norm_bias ? 1 : 0) + (config->head_bias ? 1 : 0))
        << family->name;
    names.clear();
    for (const WeightSpec& spec : checkpoint_specs(*config))
      EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
  }
}

}  // namespace
}  // namespace pando::model
