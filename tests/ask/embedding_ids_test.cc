// Embeddings of token ids, with a model whose rows see both ways.
#include "door_testing.h"

namespace pando::ask {
namespace {

using EmbeddingIds = Doors;

TEST_F(EmbeddingIds, HaveSpecialTokensAtBothEnds) {
  const auto model = Model::load(PANDO_SOURCE_DIR "/tests/task/data/classifiers/bert-three",
                                 {.weights = WeightType::kF32, .threads = 1});
  ASSERT_TRUE(model.ok()) << model.error().message();
  for (const char* good : {R"({"input": [2, 43, 3]})", R"({"input": [[2, 43, 3], [2, 3]]})",
                           R"({"input": [[43, 55]], "add_special_tokens": false})"}) {
    const auto body = read(read_embeddings_body, good, **model);
    ASSERT_TRUE(body.ok()) << good << ": " << body.error().message();
    EXPECT_FALSE((*body)->requests[0].tokens.empty()) << good;
  }
  const auto refused =
      read(read_embeddings_body, R"({"input": [[2, 43, 3], [43, 55, 3]]})", **model);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(),
            "field 'input[1]' is token ids from 43 to 3, expected ids of this model's tokenizer, "
            "from 2 to 3");
}

}  // namespace
}  // namespace pando::ask
