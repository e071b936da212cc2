// PANDO_ISA: the whole program on each instruction set that this machine has.
#include "cli/process.h"
#include "exec/cpu/kernel/kernels.h"

namespace pando::testing {
namespace {

class IsaTest : public ProcessTest {
 protected:
  static void SetUpTestSuite() {
    ProcessTest::SetUpTestSuite();
    folder().write(
        "in.jsonl",
        "{\"context\": \"Some context.\", \"questions\": [\"One?\", \"Two and more?\"]}\n");
  }
};

TEST_F(IsaTest, EverySetIsUsedAndGivesTheSameAnswersAndLogits) {
  for (const std::string weights : {"stored", "q8_0", "q4_0", "int8", "bf16_dot"}) {
    const std::string options = "--input in.jsonl --logits-hash --weights " + weights;
    const Finished best = run(options);
    ASSERT_EQ(best.code, 0) << best;
    EXPECT_TRUE(best.says("; logits ")) << best;
    for (const kernel::Isa isa : kernel::kIsas) {
      const kernel::Kernels* kernels = kernel::kernels_for(isa);
      if (kernels == nullptr) continue;
      const std::string name(kernels->name);
      const Finished limited = run(options, "PANDO_ISA=" + name + " ");
      EXPECT_EQ(limited.code, 0) << limited;
      EXPECT_TRUE(limited.says(", " + name + "\n")) << limited;
      EXPECT_EQ(limited.out, best.out) << name << ", weights " << weights;
    }
  }
}

TEST_F(IsaTest, AnUnknownSetIsNamed) {
  const Finished finished = run("--input in.jsonl", "PANDO_ISA=sse9 ");
  EXPECT_NE(finished.code, 0);
  EXPECT_EQ(finished.out, "");
  EXPECT_TRUE(finished.says(
      "PANDO_ISA is 'sse9', expected portable, avx2, avxvnni, avx512, avx512bf16 or amx"))
      << finished;
}

TEST_F(IsaTest, DevicesAreListedAndNamed) {
  const Finished listed = pando("devices");
  EXPECT_EQ(listed.code, 0) << listed;
  EXPECT_EQ(listed.out.find("cpu\t"), 0u) << listed;
  EXPECT_NE(listed.out.find(std::string(", ") + std::string(kernel::best_kernels().name) + "\t"),
            std::string::npos)
      << listed;
  EXPECT_EQ(run("--input in.jsonl --device cpu").out, run("--input in.jsonl").out);
  EXPECT_NE(listed.out.find("\nscalar\t"), std::string::npos) << listed;
  EXPECT_EQ(run("--input in.jsonl --device scalar").out, run("--input in.jsonl").out);
  const Finished unknown = run("--input in.jsonl --device tpu");
  EXPECT_EQ(unknown.code, 2) << unknown;
  EXPECT_TRUE(unknown.says("tpu") && unknown.says("cpu")) << unknown;
}

}  // namespace
}  // namespace pando::testing
