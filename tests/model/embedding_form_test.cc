// Embedding forms in files of sentence-transformers and in GGUF files.
#include "model/embedding_form.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "base/gguf_writer.h"
#include "model/rerank_form.h"
#include "model/safetensors.h"
#include "model/test_files.h"

namespace pando::model {
namespace {

class EmbeddingFormTest : public ::testing::Test {
 protected:
  void write_modules(std::initializer_list<const char*> kinds) const {
    nlohmann::json modules = nlohmann::json::array();
    for (const std::string kind : kinds)
      modules.push_back({{"idx", modules.size()},
                         {"path", kind == "Transformer" ? ""
                                  : kind == "Pooling"   ? "1_Pooling"
                                                        : kind},
                         {"type", "sentence_transformers.models." + kind}});
    folder_.write("modules.json", modules.dump());
  }
  void write_pooling(const nlohmann::json& config) const {
    std::filesystem::create_directories(folder_.path() / "1_Pooling");
    folder_.write("1_Pooling/config.json", config.dump());
  }
  struct StoredValues {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<float> values;
  };
  // A module with weights, in the folder of its name.
  void write_step(const std::string& folder, const nlohmann::json& config,
                  const std::vector<StoredValues>& weights) const {
    std::filesystem::create_directories(folder_.path() / folder);
    folder_.write(folder + "/config.json", config.dump());
    std::vector<SafetensorsWriter::Tensor> tensors;
    for (const StoredValues& stored : weights)
      tensors.push_back({.name = stored.name, .shape = stored.shape});
    auto writer = SafetensorsWriter::create(folder_.path() / folder / "model.safetensors", tensors);
    ASSERT_TRUE(writer.ok());
    for (const StoredValues& stored : weights)
      ASSERT_TRUE(writer->append(std::as_bytes(std::span(stored.values))).ok());
    ASSERT_TRUE(writer->finish().ok());
  }
  EmbeddingForm form() const {
    const Result<EmbeddingForm> form = read_embedding_form(folder_.path());
    EXPECT_TRUE(form.ok()) << form.error().message();
    return form.ok() ? *form : EmbeddingForm{};
  }
  void expect_refused(const std::vector<std::string_view>& words,
                      ErrorCode code = ErrorCode::kUnsupported) const {
    const Result<EmbeddingForm> form = read_embedding_form(folder_.path());
    ASSERT_FALSE(form.ok());
    EXPECT_EQ(form.error().code, code) << form.error().message();
    for (const std::string_view word : words)
      EXPECT_NE(form.error().message().find(word), std::string::npos) << form.error().message();
  }

  const TemporaryFolder folder_;
};

TEST_F(EmbeddingFormTest, SaysNothingWhereTheFilesDoNot) {
  EXPECT_EQ(form().pooling, Pooling::kNone);
  EXPECT_TRUE(form().normalise);
  EXPECT_EQ(form().prompt, "");
}

TEST_F(EmbeddingFormTest, FollowsModulesAndPooling) {
  write_modules({"Transformer", "Pooling", "Normalize"});
  write_pooling({{"pooling_mode_cls_token", false}, {"pooling_mode_mean_tokens", true}});
  EXPECT_EQ(form().pooling, Pooling::kMean);
  EXPECT_TRUE(form().normalise);
  write_pooling({{"pooling_mode_lasttoken", true}});
  EXPECT_EQ(form().pooling, Pooling::kLast);
  write_pooling({{"pooling_mode", "mean"}});
  EXPECT_EQ(form().pooling, Pooling::kMean);
  write_modules({"Transformer", "Pooling"});
  EXPECT_FALSE(form().normalise);
}

TEST_F(EmbeddingFormTest, ReadsTheDefaultPrompt) {
  write_modules({"Transformer", "Pooling"});
  write_pooling({{"pooling_mode_mean_tokens", true}});
  folder_.write("config_sentence_transformers.json",
                R"({"prompts": {"query": "query: "}, "default_prompt_name": "query"})");
  EXPECT_EQ(form().prompt, "query: ");
  folder_.write("config_sentence_transformers.json",
                R"({"prompts": {"query": "query: "}, "default_prompt_name": null})");
  EXPECT_EQ(form().prompt, "");
  folder_.write("config_sentence_transformers.json", R"({"default_prompt_name": "query"})");
  expect_refused({"config_sentence_transformers.json", "default_prompt_name", "query"},
                 ErrorCode::kBadFile);
}

TEST_F(EmbeddingFormTest, RefusesByNameWhatIsNotOffered) {
  write_pooling({{"pooling_mode_mean_tokens", true}});
  write_modules({"Transformer", "Pooling", "CNN"});
  expect_refused({"modules.json", "sentence_transformers.models.CNN", "place 3", "Normalize"});
  write_modules({"Transformer", "Normalize", "Pooling"});
  expect_refused({"modules.json", "sentence_transformers.models.Normalize", "place 2"});
  write_modules({"Transformer"});
  expect_refused({"modules.json", "no module of type Pooling"});
  folder_.write("modules.json",
                R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
                                    {"path": "1_Pooling", "type": "own.Pooling"}])");
  expect_refused({"modules.json", "'own.Pooling'"});
  folder_.write("modules.json",
                R"([{"path": "0", "type": "sentence_transformers.models.Transformer"}])");
  expect_refused({"modules.json", "'path'", "'0'"});
  for (const char* none : {"[]", "{}", "3"}) {
    folder_.write("modules.json", none);
    expect_refused({"modules.json", "a list of modules"}, ErrorCode::kBadFile);
  }
  write_modules({"Transformer", "Pooling"});
  for (const auto& [file, wrong, words] :
       std::initializer_list<std::tuple<const char*, const char*, std::vector<std::string_view>>>{
           {"sentence_bert_config.json", R"({"do_lower_case": true})", {"'do_lower_case' is true"}},
           {"sentence_roberta_config.json", R"({"do_lower_case": true})", {"'do_lower_case'"}},
           {"sentence_bert_config.json", R"({"query_length": 32})", {"'query_length' is 32"}},
           {"sentence_bert_config.json", R"({"tokenizer_args": {"a": 1}})", {"'tokenizer_args'"}},
           {"sentence_bert_config.json",
            R"({"model_args": {"rope": 1}})",
            {"model_args", "'rope'"}},
           {"sentence_bert_config.json",
            R"({"transformer_task": "fill-mask"})",
            {"'transformer_task' is \"fill-mask\""}},
           {"sentence_bert_config.json",
            R"({"modality_config": {"message": {"method": "forward"}}})",
            {"'modality_config'"}},
           {"config_sentence_transformers.json",
            R"({"model_type": "SparseEncoder"})",
            {"'model_type' is \"SparseEncoder\""}}}) {
    folder_.write(file, wrong);
    expect_refused({file});
    expect_refused(words);
    folder_.write(file, "{}");
  }
  EXPECT_EQ(form().pooling, Pooling::kMean);
}

TEST_F(EmbeddingFormTest, RefusesOtherPoolings) {
  write_modules({"Transformer", "Pooling"});
  expect_refused({"1_Pooling", "no such file"}, ErrorCode::kNotFound);
  write_pooling({{"pooling_mode", {"mean", "most"}}});
  expect_refused({"1_Pooling", "'pooling_mode' is \"most\"", "weightedmean"}, ErrorCode::kBadFile);
  write_pooling({{"pooling_mode", nlohmann::json::array()}});
  expect_refused({"'pooling_mode' is []"}, ErrorCode::kBadFile);
  write_pooling({{"pooling_mode_mean_tokens", 1}});
  expect_refused({"'pooling_mode_mean_tokens' is 1"}, ErrorCode::kBadFile);
  write_pooling({{"pooling_mode", 3}});
  expect_refused({"'pooling_mode' is 3"}, ErrorCode::kBadFile);
  write_pooling({{"pooling_mode", "mean"}, {"scale", 2}});
  expect_refused({"'scale' is 2"});
  // As in the library, the mean is the default, and flags are ignored beside a name.
  write_pooling({{"word_embedding_dimension", 64}});
  EXPECT_EQ(form().pooling, Pooling::kMean);
  EXPECT_EQ(form().dimension, 64);
  write_pooling({{"pooling_mode", {"lasttoken"}}, {"pooling_mode_max_tokens", true}});
  EXPECT_EQ(form().pooling, Pooling::kLast);
}

TEST_F(EmbeddingFormTest, ReadsEveryPooling) {
  write_modules({"Transformer", "Pooling"});
  for (const auto& [flag, name, pooling] :
       {std::tuple{"cls_token", "cls", Pooling::kFirst},
        {"max_tokens", "max", Pooling::kMax},
        {"mean_tokens", "mean", Pooling::kMean},
        {"mean_sqrt_len_tokens", "mean_sqrt_len_tokens", Pooling::kMeanSqrtLen},
        {"weightedmean_tokens", "weightedmean", Pooling::kWeightedMean},
        {"lasttoken", "lasttoken", Pooling::kLast}}) {
    write_pooling(
        {{"pooling_mode_mean_tokens", false}, {fmt::format("pooling_mode_{}", flag), true}});
    EXPECT_EQ(form().pooling, pooling) << flag;
    write_pooling({{"pooling_mode", name}});
    EXPECT_EQ(form().pooling, pooling) << name;
  }
  // Flags join in the library's order, names in their own.
  write_pooling({{"pooling_mode_mean_tokens", true}, {"pooling_mode_cls_token", true}});
  EXPECT_EQ(form().pooling, Pooling::kRows);
  EXPECT_EQ(form().joined, (std::vector{Pooling::kFirst, Pooling::kMean}));
  write_pooling({{"pooling_mode", {"mean", "cls"}}});
  EXPECT_EQ(form().joined, (std::vector{Pooling::kMean, Pooling::kFirst}));
}

TEST_F(EmbeddingFormTest, ReadsStepsBehindThePooling) {
  write_modules({"Transformer", "Pooling", "Dense", "Dropout", "LayerNorm", "Normalize"});
  write_pooling({{"pooling_mode", {"cls", "mean"}}, {"word_embedding_dimension", 1}});
  write_step("Dense",
             {{"in_features", 2},
              {"out_features", 3},
              {"bias", true},
              {"activation_function", "torch.nn.modules.activation.ReLU"}},
             {{"linear.weight", {3, 2}, {1, 2, 3, 4, 5, 6}}, {"linear.bias", {3}, {0, -12, 0}}});
  write_step("LayerNorm", {{"dimension", 3}},
             {{"norm.weight", {3}, {1, 1, 2}}, {"norm.bias", {3}, {0, 1, 0}}});
  const EmbeddingForm read = form();
  EXPECT_TRUE(read.normalise);
  ASSERT_NE(read.steps, nullptr);
  ASSERT_EQ(read.steps->list.size(), 2u);
  EXPECT_EQ(read.steps->length_of(2), 3);
  // ReLU of (1 + 4, 3 + 8 - 12, 5 + 12), and its norm: mean 22 / 3.
  const float x[] = {1, 2};
  const std::vector<float> y = read.steps->apply(x);
  const double mean = 22.0 / 3, variance = (25 + 289) / 3.0 - mean * mean;
  const double scale = 1 / std::sqrt(variance + 1e-5);
  EXPECT_NEAR(y[0], (5 - mean) * scale, 1e-6);
  EXPECT_NEAR(y[1], -mean * scale + 1, 1e-6);
  EXPECT_NEAR(y[2], 2 * (17 - mean) * scale, 1e-6);
}

TEST_F(EmbeddingFormTest, RefusesStepsThatDoNotFit) {
  write_modules({"Transformer", "Pooling", "Dense"});
  write_pooling({{"pooling_mode", "mean"}, {"word_embedding_dimension", 3}});
  const std::vector<StoredValues> weights = {{"linear.weight", {1, 2}, {1, 2}}};
  nlohmann::json config = {{"in_features", 2}, {"out_features", 1}, {"bias", false}};
  write_step("Dense", config, weights);
  expect_refused({"Dense", "2 values, expected 3"}, ErrorCode::kBadFile);
  write_pooling({{"pooling_mode", "mean"}});
  EXPECT_EQ(form().steps->list[0].activation, VectorActivation::kTanh);
  config["activation_function"] = "torch.nn.modules.activation.Softplus";
  write_step("Dense", config, weights);
  expect_refused({"Dense", "Softplus", "expected Identity, Tanh"});
  config["activation_function"] = "torch.nn.modules.linear.Identity";
  config["use_residual"] = true;
  write_step("Dense", config, weights);
  expect_refused({"Dense", "'use_residual' is true"});
  config.erase("use_residual");
  write_step("Dense", config, weights);
  std::filesystem::rename(folder_.path() / "Dense/model.safetensors",
                          folder_.path() / "Dense/pytorch_model.bin");
  expect_refused({"pytorch_model.bin", "no archive of torch.save", "model.safetensors"});
}

// An archive as torch.save writes it, of f32 or f16 storages.
std::string torch_archive(const std::string& pickle, const std::vector<std::string>& storages) {
  std::string file, directory;
  const auto number = [](size_t value, int n) {
    return std::string(reinterpret_cast<const char*>(&value), static_cast<size_t>(n));
  };
  const auto add = [&](const std::string& name, const std::string& data) {
    const std::string sizes = number(data.size(), 4) + number(data.size(), 4);
    directory += "PK\1\2" + number(0, 16) + sizes + number(name.size(), 2) + number(0, 12) +
                 number(file.size(), 4) + name;
    file += "PK\3\4" + number(0, 14) + sizes + number(name.size(), 2) + number(0, 2) + name + data;
  };
  add("model/data.pkl", pickle);
  for (size_t i = 0; i < storages.size(); ++i) add(fmt::format("model/data/{}", i), storages[i]);
  const std::string n = number(storages.size() + 1, 2);
  return file + directory + "PK\5\6" + number(0, 4) + n + n + number(directory.size(), 4) +
         number(file.size(), 4) + number(0, 2);
}

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

TEST_F(EmbeddingFormTest, ReadsFilesOfTorch) {
  write_modules({"Transformer", "Pooling", "Dense"});
  write_pooling({{"pooling_mode", "cls"}});
  write_step("Dense",
             {{"in_features", 2},
              {"out_features", 2},
              {"bias", true},
              {"activation_function", "torch.nn.modules.linear.Identity"}},
             {});
  std::filesystem::remove(folder_.path() / "Dense/model.safetensors");
  const std::string matrix = bytes_of({1, 2, 3, 4}), bias = bytes_of({0, 10});
  folder_.write("Dense/pytorch_model.bin", torch_archive("ctorch\nFloatStorage", {matrix, bias}));
  folder_.write("colbert_linear.pt", torch_archive("ctorch\nFloatStorage", {matrix, bias}));
  const std::string half = {0, 0x3C, 0, '\xC0'};  // 1, -2
  folder_.write("sparse_linear.pt", torch_archive("HalfStorage", {half, std::string(2, '\0')}));
  const EmbeddingForm read = form();
  const float x[] = {1, 1}, less[] = {0, 1};
  ASSERT_NE(read.steps, nullptr);
  EXPECT_EQ(read.steps->apply(x), (std::vector<float>{3, 17}));
  EXPECT_EQ(read.token_steps->apply(less), (std::vector<float>{2, 14}));
  EXPECT_EQ(read.weight_steps->apply(x), (std::vector<float>{0}));  // by ReLU
  const float more[] = {3, 1};
  EXPECT_EQ(read.weight_steps->apply(more), (std::vector<float>{1}));
  folder_.write("sparse_linear.pt", torch_archive("FloatStorage", {matrix}));
  expect_refused({"sparse_linear.pt", "1 tensors, expected a matrix and its bias"},
                 ErrorCode::kBadFile);
  folder_.write("sparse_linear.pt", torch_archive("LongStorage", {matrix, bias}));
  expect_refused({"sparse_linear.pt", "expected tensors of f32, f16 or bf16"});
  folder_.write("sparse_linear.pt", torch_archive("FloatStorage", {matrix, bias}).substr(0, 90));
  expect_refused({"sparse_linear.pt", "no archive of torch.save"});
}

TEST_F(EmbeddingFormTest, RefusesAScaleOfOtherValues) {
  folder_.write("modules.json",
                R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
      {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
      {"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])");
  write_pooling({{"pooling_mode", "mean"}});
  EXPECT_TRUE(form().normalise);
  std::filesystem::create_directories(folder_.path() / "2_Normalize");
  folder_.write("2_Normalize/config.json", R"({"module_input_name": "sentence_embedding"})");
  EXPECT_TRUE(form().normalise);
  folder_.write("2_Normalize/config.json", R"({"module_input_name": "token_embeddings"})");
  expect_refused({"2_Normalize", "'module_input_name'", "token_embeddings"});
}

TEST_F(EmbeddingFormTest, ReadsWhatIsPooledAndWhereTextsAreCut) {
  EXPECT_EQ(form().max_tokens, 0);
  EXPECT_FALSE(form().has_modules);
  write_modules({"Transformer", "Pooling"});
  write_pooling({{"pooling_mode_mean_tokens", true}, {"include_prompt", false}});
  folder_.write("config_sentence_transformers.json",
                R"({"prompts": {"query": "Query: ", "document": "", "other": null},
                    "similarity_fn_name": "dot", "truncate_dim": 64,
                    "__version__": {"pytorch": "2"}})");
  EXPECT_EQ(form().kept_dimensions, 64);
  EXPECT_FALSE(form().include_prompt);
  EXPECT_EQ(form().prompts, (std::map<std::string, std::string>{
                                {"query", "Query: "}, {"document", ""}, {"other", ""}}));
  EXPECT_TRUE(form().has_modules);
  EXPECT_EQ(form().max_tokens, 0);
  folder_.write("sentence_bert_config.json",
                R"({"max_seq_length": 512, "do_lower_case": false, "query_length": null,
                    "transformer_task": "feature-extraction", "module_output_name": "token_embeddings",
                    "modality_config": {"text": {"method": "forward",
                                                 "method_output_name": "last_hidden_state"}},
                    "model_args": {"attn_implementation": "sdpa"}})");
  EXPECT_EQ(form().max_tokens, 512);
  folder_.write("sentence_bert_config.json", R"({"max_seq_length": 0})");
  expect_refused({"sentence_bert_config.json", "'max_seq_length' is 0"}, ErrorCode::kBadFile);
  folder_.write("config_sentence_transformers.json", R"({"prompts": {"query": 3}})");
  expect_refused({"'prompts.query' is 3"}, ErrorCode::kBadFile);
  folder_.write("config_sentence_transformers.json", R"({"prompts": ["query"]})");
  expect_refused({"'prompts'"}, ErrorCode::kBadFile);
}

// Without these files the vectors would differ.
TEST_F(EmbeddingFormTest, NamesBrokenLinks) {
  for (const char* name :
       {"modules.json", "config_sentence_transformers.json", "sentence_bert_config.json",
        "1_Pooling", "1_Pooling/config.json", "2_Normalize/config.json"}) {
    const TemporaryFolder folder;
    const std::filesystem::path& at = folder.path();
    folder.write("modules.json",
                 R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
        {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])");
    std::filesystem::create_directories(at / "1_Pooling");
    std::filesystem::create_directories(at / "2_Normalize");
    folder.write("1_Pooling/config.json", R"({"pooling_mode": "mean"})");
    ASSERT_TRUE(read_embedding_form(at).ok());
    std::filesystem::remove_all(at / name);
    std::filesystem::create_symlink("nowhere", at / name);
    const Result<EmbeddingForm> form = read_embedding_form(at);
    ASSERT_FALSE(form.ok()) << name;
    EXPECT_EQ(form.error().code, ErrorCode::kIo);
    EXPECT_NE(form.error().message().find((at / name).string() + ": is a broken link"),
              std::string::npos)
        << form.error().message();
    std::filesystem::remove(at / name);
    std::filesystem::create_directories(at / name);
    const Result<EmbeddingForm> folder_instead = read_embedding_form(at);
    if (std::string_view(name) == "1_Pooling") continue;  // its configuration is missing then
    ASSERT_FALSE(folder_instead.ok()) << name;
    EXPECT_NE(folder_instead.error().message().find("is a directory"), std::string::npos);
  }
}

// As Qwen3-Reranker is published: the answers are tokens, and the instruction is the prompt.
TEST_F(EmbeddingFormTest, ReadsHowARerankerIsAsked) {
  const auto read = [&] {
    const Result<RerankForm> form = read_rerank_form(folder_.path());
    EXPECT_TRUE(form.ok()) << form.error().message();
    return form.ok() ? *form : RerankForm{};
  };
  EXPECT_FALSE(read().yes);
  folder_.write(
      "modules.json",
      R"([{"path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"},
                    {"path": "1_LogitScore", "type":
                     "sentence_transformers.cross_encoder.modules.logit_score.LogitScore"}])");
  std::filesystem::create_directories(folder_.path() / "1_LogitScore");
  folder_.write("1_LogitScore/config.json", R"({"true_token_id": 9693, "false_token_id": 2152})");
  EXPECT_EQ(read().yes, 9693);
  EXPECT_EQ(read().no, 2152);
  EXPECT_EQ(read().instruction, "");
  folder_.write("config_sentence_transformers.json",
                R"({"prompts": {"query": "Find it"}, "default_prompt_name": "query"})");
  EXPECT_EQ(read().instruction, "Find it");
  expect_refused({"LogitScore", "expected one of type Pooling"});
  folder_.write("sentence_bert_config.json", R"({"max_seq_length": 100})");
  EXPECT_EQ(read().max_tokens, 100);
  folder_.write("sentence_bert_config.json", R"({"do_lower_case": true})");
  EXPECT_FALSE(read_rerank_form(folder_.path()).ok());
  folder_.write("sentence_bert_config.json", "{}");
  for (const char* wrong : {R"({"true_token_id": 1})", R"({"false_token_id": 1})",
                            R"({"true_token_id": -1, "false_token_id": 1})"}) {
    folder_.write("1_LogitScore/config.json", wrong);
    const Result<RerankForm> form = read_rerank_form(folder_.path());
    ASSERT_FALSE(form.ok()) << wrong;
    EXPECT_NE(form.error().message().find("_token_id' is "), std::string::npos)
        << form.error().message();
  }
}

TEST_F(EmbeddingFormTest, ReadsTheKeyOfGgufFiles) {
  const auto read = [&](uint32_t type) {
    testing::GgufWriter writer;
    writer.string("general.architecture", "qwen3").uint32("qwen3.pooling_type", type);
    return read_embedding_form(folder_.write("m.gguf", writer.bytes()));
  };
  EXPECT_EQ(read(0)->pooling, Pooling::kNone);
  EXPECT_EQ(read(1)->pooling, Pooling::kMean);
  EXPECT_EQ(read(2)->pooling, Pooling::kFirst);
  EXPECT_EQ(read(3)->pooling, Pooling::kLast);
  const auto refused = read(4);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().message().find("qwen3.pooling_type"), std::string::npos);
}

}  // namespace
}  // namespace pando::model
