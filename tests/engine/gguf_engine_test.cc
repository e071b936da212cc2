// A GGUF file through the whole engine: the logits of the safetensors that it was made of.
#include <gtest/gtest.h>

#include "base/numbers/weight_types.h"
#include "exec/loaded_weights.h"
#include "model/gguf_files.h"
#include "model/make_model.h"
#include "model/test_files.h"
#include "pando/stream.h"

namespace pando {
namespace {

uint64_t logits_hash(const std::filesystem::path& path, WeightType weights, int n_threads = 1,
                     int n_tokens = 39) {
  const Result<std::shared_ptr<const Model>> model =
      Model::load(path, {.weights = weights, .threads = n_threads});
  if (!model) {
    ADD_FAILURE() << model.error().message();
    return 0;
  }
  EXPECT_FALSE((*model)->has_tokenizer());
  const std::unique_ptr<Engine> engine =
      Engine::open(*model, {.threads = n_threads, .kv_memory = size_t{16} << 20}).value();
  Request request;
  for (Token token = 1; token <= n_tokens; ++token) request.tokens.push_back(token * 7 % 50);
  request.sampling.max_tokens = 12;
  request.sampling.ignore_eos = true;
  request.logits_hash = true;
  Stream stream = Stream::open(*engine, request).value();
  while (const auto event = stream.next())
    if (event->completion) return event->completion->logits_hash;
  ADD_FAILURE() << "no answer";
  return 0;
}

// A tiny model of random weights in safetensors, from which GGUF files are made.
struct TinyModel {
  TinyModel(const char* shape, DType dtype, int max_positions) {
    const auto made = model::make_model({.shape = shape,
                                         .out = folder.path(),
                                         .dtype = dtype,
                                         .vocab = 50,
                                         .max_positions = max_positions});
    if (!made) throw std::runtime_error(made.error().message());
    config = model::ModelConfig::load(folder.path()).value();
    checkpoint = model::Checkpoint::open(folder.path()).value();
  }
  std::filesystem::path gguf(const char* name, const testing::GgufFileOptions& options) const {
    return folder.write(name, testing::gguf_of(config, *checkpoint, options));
  }

  TemporaryFolder folder;
  model::ModelConfig config;
  std::optional<model::Checkpoint> checkpoint;
};

TEST(GgufEngine, LogitsAreThoseOfSafetensors) {
  for (const char* shape : {"tiny-llama", "tiny-qwen3", "tiny-mistral", "tiny-olmo2"}) {
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      const TinyModel tiny(shape, dtype, 256);
      const auto gguf = tiny.gguf("m.gguf", {.matrices = dtype});
      for (const WeightType weights :
           {WeightType::kAsStored, WeightType::kQ8_0, WeightType::kQ4_0, WeightType::kInt8})
        EXPECT_EQ(logits_hash(gguf, weights), logits_hash(tiny.folder.path(), weights))
            << shape << " " << dtype_name(dtype);
      // Embeddings in blocks too.
      const auto q8 = tiny.gguf("q8.gguf", {.matrices = DType::kQ8_0});
      EXPECT_NE(logits_hash(q8, WeightType::kAsStored), logits_hash(gguf, WeightType::kAsStored));
    }
  }
}

// Products whose parts read activations in different forms; long enough that threads share rows.
TEST(GgufEngine, PartsInOtherTypesOfTheSameValuesChangeNothing) {
  for (const char* shape : {"tiny-qwen3", "tiny-olmo2"}) {
    for (const DType dtype : {DType::kF16, DType::kBF16}) {
      const TinyModel tiny(shape, dtype, 512);
      const auto mixed = tiny.gguf("mixed.gguf", {.matrices = dtype, .widens_alternate = true});
      ThreadPool pool(1);
      const auto weights = testing::load_weights(mixed, {}, pool);
      ASSERT_TRUE(weights.ok()) << weights.error().message();
      ASSERT_EQ(weights->layers[0].qkv.size(), 3u);
      ASSERT_EQ(weights->layers[0].gate_up.size(), 2u);
      EXPECT_EQ(logits_hash(mixed, WeightType::kAsStored, 2, 400),
                logits_hash(tiny.folder.path(), WeightType::kAsStored, 1, 400))
          << shape << " " << dtype_name(dtype);
    }
  }
}

}  // namespace
}  // namespace pando
