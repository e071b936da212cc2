#include "engine/technique.h"

#include <gtest/gtest.h>

#include "pando/values/sharing.h"

namespace pando {
namespace {

TEST(Techniques, TheProductsOwnAreFoundByName) {
  for (const char* name : {"tree", "packed", "prefix_cached"}) {
    const Result<Technique> technique = make_technique(name, 64);
    ASSERT_TRUE(technique);
    EXPECT_EQ(technique->planner->name(), name);
    EXPECT_EQ(technique->planner->shares_tokens(), std::string_view(name) != "packed");
    EXPECT_EQ(technique->batcher, nullptr);
    EXPECT_TRUE(technique->exact);
    EXPECT_EQ(sharing_info(name)->name, name);
  }
  const Result<Technique> unknown = make_technique("hydra", 64);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(unknown.error().message().find("'hydra'"), std::string::npos);
}

}  // namespace
}  // namespace pando
