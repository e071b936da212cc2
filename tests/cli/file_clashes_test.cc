// Files that a command would both read and write; closed standard descriptors.
#include <filesystem>

#include "cli/run_process.h"

namespace pando::testing {
namespace {

class FileClashes : public RunProcess {
 protected:
  static void SetUpTestSuite() {
    RunProcess::SetUpTestSuite();
    folder().write("schema.json", "{\"type\": \"string\", \"maxLength\": 2}\n");
    folder().write("template.txt", "{context} {question}");
    folder().write("chat.jinja", "{{ messages[0].content }}");
    folder().write("sampling.json", "{\"temperature\": 0}");
    folder().write("options.toml", "[run]\nmax-tokens = 2\n");
    folder().write("defaults.json", "{}");
    folder().write("texts.jsonl", "{\"id\": \"t\", \"text\": \"Some text.\"}\n");
    folder().write("queries.jsonl", "{\"id\": \"q\", \"query\": \"Q\", \"documents\": [\"D\"]}\n");
    folder().write("grades.txt", "q 0 0 1\n");
    folder().write("score.jsonl",
                   "{\"id\": \"s\", \"prompt\": \"P\", \"continuations\": [\"c\"]}\n");
  }

  // The command is refused because of the file of this name, which stays unchanged.
  void refuses(const std::string& command, const std::string& file, const std::string& what,
               const std::string& before = "") {
    const std::string kept = contents(at(file));
    const Finished finished = pando(command, before);
    EXPECT_EQ(finished.code, kUsage) << command << ": " << finished;
    EXPECT_TRUE(finished.says(" is " + what + ", expected a different file to write to\n"))
        << command << ": " << finished;
    EXPECT_EQ(contents(at(file)), kept) << command;
  }
};

TEST_F(FileClashes, AnOutputIsNoFileThatIsRead) {
  const std::string run = "run --model m --input good.jsonl --overwrite ";
  std::filesystem::create_symlink("good.jsonl", at("link.jsonl"));
  std::filesystem::create_hard_link(at("good.jsonl"), at("hard.jsonl"));
  for (const char* name : {"good.jsonl", "m/../good.jsonl", "link.jsonl", "hard.jsonl"})
    refuses(run + "--output " + name, "good.jsonl", "the input");
  refuses(run + "--report good.jsonl", "good.jsonl", "the input");
  refuses(run + "--output x.jsonl --schema schema.json --report schema.json", "schema.json",
          "the schema");
  refuses(run + "--schema schema.json --output schema.json", "schema.json", "the schema");
  refuses(run + "--template-file template.txt --output template.txt", "template.txt",
          "the template");
  refuses(run + "--chat-template chat.jinja --output x.jsonl --report chat.jinja", "chat.jinja",
          "the chat template");
  refuses(run + "--generation-config sampling.json --output sampling.json", "sampling.json",
          "the file of sampling defaults");
  refuses(run + "--config options.toml --report options.toml", "options.toml",
          "the file of options");
  refuses(run + "--generation-config defaults.json --output defaults.json", "defaults.json",
          "the file of sampling defaults");
  for (const char* name : {"m/config.json", "m/model.safetensors"})
    refuses(run + "--output x.jsonl --report " + name, name, "a file of the model");
  folder().write("m/answers.txt", "old");
  EXPECT_EQ(pando(run + "--max-tokens 1 --output m/answers.txt").code, kOk);
  for (const char* name : {"m/answers.txt", "m/answers.txt.journal"})
    std::filesystem::remove(at(name));
  std::filesystem::copy_file(at("good.jsonl"), at("x.jsonl.journal"));
  refuses("run --model m --input x.jsonl.journal --output x.jsonl --overwrite", "x.jsonl.journal",
          "the input");
  refuses("embed --model m --input texts.jsonl --output texts.jsonl --overwrite", "texts.jsonl",
          "the input");
  refuses("score --model m --input score.jsonl --output score.jsonl --overwrite", "score.jsonl",
          "the input");
  refuses("rerank --model m --input queries.jsonl --output queries.jsonl --overwrite",
          "queries.jsonl", "the input");
  refuses(
      "rerank --model m --input queries.jsonl --output r.jsonl --qrels grades.txt --trec-run "
      "grades.txt",
      "grades.txt", "the file of grades");
  EXPECT_FALSE(std::filesystem::exists(at("r.jsonl")));
}

TEST_F(FileClashes, StandardStreamsAreFilesToo) {
  const std::string run = "run --model m --overwrite ";
  refuses(run + "--input - --output good.jsonl < good.jsonl", "good.jsonl", "the input");
  refuses(run + "--input good.jsonl >> good.jsonl", "good.jsonl", "the input");
  refuses(run + "--input - < good.jsonl >> good.jsonl", "good.jsonl", "the input");
  refuses("inspect --model m --input good.jsonl >> good.jsonl", "good.jsonl", "the input");
  refuses("score --model m --perplexity template.txt >> template.txt", "template.txt", "the text");
  refuses(run + "--input good.jsonl --output o.jsonl >> o.jsonl", "o.jsonl", "the output");
  EXPECT_EQ(pando("run --model m --max-tokens 1 --input - --output /dev/stdout < good.jsonl >> "
                  "stdout.txt")
                .code,
            kOk);
}

TEST_F(FileClashes, TwoOutputsAreTwoFiles) {
  const std::string rerank =
      "rerank --model m --input queries.jsonl --output r.jsonl --overwrite --trec-run ";
  refuses(rerank + "r.jsonl", "r.jsonl", "the output");
  refuses(rerank + "r.jsonl.journal", "r.jsonl.journal", "the journal of the output");
  refuses("run --model m --input good.jsonl --output o.jsonl --report o.jsonl.journal",
          "o.jsonl.journal", "the journal of the output");
}

TEST_F(FileClashes, ClosedDescriptorsLoseNothing) {
  const auto with = [](const std::string& closed) {
    return "sh -c 'exec \"$@\" " + closed + "' sh ";
  };
  const std::pair<std::string, int64_t> commands[] = {{"run --max-tokens 2 --input good.jsonl", 3},
                                                      {"embed --input texts.jsonl", 1},
                                                      {"rerank --input queries.jsonl", 1},
                                                      {"score --input score.jsonl", 1}};
  for (const std::string closed : {">&-", "2>&-", "<&-", ">&- 2>&- <&-"}) {
    for (const auto& [command, n_answers] : commands) {
      const std::string output = " --model m --threads 1 --output closed.jsonl --overwrite";
      const Finished finished = pando(command + output, with(closed));
      EXPECT_EQ(finished.code, kOk) << closed << command << finished;
      EXPECT_EQ(n_lines(contents(at("closed.jsonl"))), n_answers) << closed << command;
    }
    EXPECT_EQ(
        pando("verify --model m --threads 1 --max-tokens 2 --input good.jsonl", with(closed)).code,
        kOk)
        << closed;
  }
}

TEST_F(FileClashes, AClosedDescriptorThatIsNeededIsAnError) {
  const std::string run = "run --model m --threads 1 --max-tokens 1 ";
  for (const std::string& command :
       {run + "--input good.jsonl", run + "--input good.jsonl --output /dev/stdout",
        run + "--input good.jsonl --dry-run", std::string("tokenize --model m word"),
        std::string("inspect --model m --input good.jsonl"), std::string("--help")}) {
    const Finished finished = pando(command + " >&-");
    EXPECT_EQ(finished.code, kFailed) << command << finished;
    EXPECT_TRUE(finished.says("pando: cannot write ")) << command << finished;
  }
  for (const std::string input : {"-", "/dev/stdin"}) {
    const Finished finished =
        pando(run + "--output closed.jsonl --overwrite --input " + input + " <&-");
    EXPECT_EQ(finished.code, kFailed) << finished;
    EXPECT_TRUE(finished.says(" a directory, expected a file")) << finished;
  }
}

// Each copy would do all of the work.
TEST_F(FileClashes, CopiesByALauncherAreRefused) {
  const auto started = [&](const std::string& environment, const std::string& more = "") {
    return pando("run --model m --threads 1 --max-tokens 1 --input good.jsonl " + more,
                 environment + " ");
  };
  for (const std::string names :
       {"OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=", "PMI_SIZE=2 PMI_RANK=",
        "MV2_COMM_WORLD_SIZE=2 MV2_COMM_WORLD_RANK=",
        "SLURM_NTASKS=2 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=", "FLUX_JOB_SIZE=2 FLUX_TASK_RANK=",
        "JSM_NAMESPACE_SIZE=2 JSM_NAMESPACE_RANK="}) {
    const Finished first = started(names + "0"), second = started(names + "1");
    EXPECT_EQ(first.code, kUsage) << names << first;
    EXPECT_EQ(first.err,
              "pando: 2 processes were started without --parallel, each of which would do all of "
              "the work, expected --parallel replicas=2\n");
    EXPECT_EQ(second.code, kUsage) << names << second;
    EXPECT_EQ(second.err, "") << "said once";
  }
  for (const std::string second :
       {"SLURM_NTASKS=2 SLURM_PROCID=1", "PMIX_RANK=1", "PALS_RANKID=1", "ALPS_APP_PE=1"}) {
    const Finished refused = started(second);
    EXPECT_EQ(refused.code, kUsage) << second << refused;
    EXPECT_TRUE(refused.says("several processes were started without --parallel")) << refused;
  }
  // One process; a batch script that has not yet started others.
  for (const std::string one : {"PMI_SIZE=1 PMI_RANK=0", "SLURM_NTASKS=2 SLURM_PROCID=0",
                                "SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0", "PMIX_RANK=0"})
    EXPECT_EQ(started(one).code, kOk) << one;
  EXPECT_EQ(pando("tokenize --model m word", "PMI_SIZE=2 PMI_RANK=0 ").code, kOk);
}

}  // namespace
}  // namespace pando::testing
