// The check of instruction sets at start-up: which tables it refuses.
#include "exec/cpu/kernel/self_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>

#include "exec/cpu/kernel/cpu/linear_block.h"
#include "kernel/isas.h"

namespace pando::kernel {
namespace {

TEST(SelfTest, EverySetOfThisMachinePasses) {
  for (const Kernels* kernels : all_kernels())
    EXPECT_EQ(first_wrong_product(*kernels), std::nullopt) << kernels->name;
}

// A table that is wrong in the last bit of one output, with one type of weights and many rows.
const Kernels& slightly_wrong() {
  static const Kernels kernels = [] {
    Kernels table = *kernels_for(Isa::kPortable);
    table.isa = Isa::kAmx;
    table.name = "slightly wrong";
    table.linear_block = [](const LinearBlockArgs& args) {
      kernels_for(Isa::kPortable)->linear_block(args);
      if (args.type == DType::kQ6_K && args.m > 32) args.y[0] = std::nextafter(args.y[0], INFINITY);
    };
    return table;
  }();
  return kernels;
}

TEST(SelfTest, ATableThatIsWrongInOneBitIsRefusedAndTheNextIsTaken) {
  EXPECT_EQ(first_wrong_product(slightly_wrong()), DType::kQ6_K);
  const Kernels* const best = &best_kernels();
  const Kernels* const tables[] = {&slightly_wrong(), best, kernels_for(Isa::kPortable)};
  const KernelChoice choice = choose_kernels(tables);
  EXPECT_EQ(choice.kernels, best);
  ASSERT_EQ(choice.refused.size(), 1u);
  EXPECT_EQ(choice.refused[0],
            "instruction set 'slightly wrong' is not used: on this processor its products with "
            "q6_K weights differ from those of 'portable'");
  const std::span<const Kernels* const> others = std::span(tables).subspan(1);
  EXPECT_TRUE(choose_kernels(others).refused.empty());
}

}  // namespace
}  // namespace pando::kernel
