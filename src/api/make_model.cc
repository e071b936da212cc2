#include "model/make_model.h"

#include "base/errors.h"
#include "base/is_there.h"
#include "base/numbers/weight_types.h"
#include "engine/options.h"
#include "pando/make_model.h"
#include "text/byte_tokenizer.h"
#include "text/tokenizer.h"

namespace pando {
namespace {

constexpr const char* kTokenizerFiles[] = {
    "tokenizer.json",      "tokenizer_config.json", "tokenizer.model", "vocab.json",
    "merges.txt",          "encoder.json",          "vocab.bpe",       "tekken.json",
    "chat_template.jinja", "chat_template.json"};

// A tokenizer that was there before must not be taken for the new one.
Status remove_tokenizer(const std::filesystem::path& directory) {
  for (const char* name : kTokenizerFiles) {
    std::error_code error;
    std::filesystem::remove(directory / name, error);
    if (error)
      return io_error("cannot remove {}: {}", (directory / name).string(), error.message());
  }
  return {};
}

Status copy_tokenizer(const std::filesystem::path& from, const std::filesystem::path& to) {
  for (const char* name : kTokenizerFiles) {
    std::error_code error;
    if (!is_there(from / name)) continue;
    std::filesystem::copy_file(from / name, to / name,
                               std::filesystem::copy_options::overwrite_existing, error);
    if (error)
      return io_error("cannot copy {} to {}: {}", (from / name).string(), to.string(),
                      error.message());
  }
  return {};
}

Status read_dtype(std::string_view name, DType& out) {
  std::vector<std::string_view> expected;  // types in safetensors files
  for (const WeightTypeInfo& info : weight_types()) {
    if (info.safetensors.empty()) continue;
    out = info.type;
    if (info.name == name) return {};
    expected.push_back(info.name);
  }
  return invalid_option("dtype", "is '{}', expected {}", name, one_of_these(expected));
}

}  // namespace

std::vector<std::string> random_model_shapes() {
  std::vector<std::string> names;
  for (const std::string_view name : model::shape_names()) names.emplace_back(name);
  return names;
}

Status make_random_model(const RandomModelOptions& options) {
  model::MakeModelOptions make;
  make.shape = options.shape;
  make.out = options.out;
  make.seed = options.seed;
  make.n_layers = options.n_layers;
  make.vocab = options.vocab;
  make.max_positions = options.max_positions;
  make.n_threads = 0;
  if (Status status = fill_in_threads(make.n_threads); !status) return status;
  if (Status status = read_dtype(options.dtype, make.dtype); !status) return status;
  int n_tokens = kByteTokenizerVocab;
  if (!options.tokenizer.empty()) {
    if (std::error_code failure; std::filesystem::is_regular_file(options.tokenizer, failure))
      return invalid_argument(
          "the tokenizer '{}' is a file, expected a directory with tokenizer.json, vocab.json and "
          "merges.txt, tekken.json, or tokenizer.model",
          options.tokenizer.string());
    Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::load(options.tokenizer);
    if (!tokenizer) return tokenizer.error();
    n_tokens = (*tokenizer)->vocab_size();
  }
  // A tiny model speaks bytes unless told otherwise; other tokens of its vocabulary would have no
  // text.
  if (!make.vocab && options.tokenizer.empty() && options.shape.starts_with("tiny-"))
    make.vocab = kByteTokenizerVocab;
  Result<model::ModelConfig> shape = model::named_shape(options.shape);
  if (!shape) return shape.error();
  if (const int vocab = make.vocab.value_or(shape->vocab);
      vocab < n_tokens)  // said before gigabytes are written
    return invalid_option("vocab", "is {}, expected at least the tokenizer's {}", vocab, n_tokens);
  if (options.tokenizer.empty()) make.eos_id = kByteTokenizerVocab - 1;
  if (Status status = model::make_model(make); !status) return status;
  std::error_code same;
  if (std::filesystem::equivalent(options.tokenizer, options.out, same)) return {};
  if (Status status = remove_tokenizer(options.out); !status) return status;
  return options.tokenizer.empty() ? write_byte_tokenizer(options.out)
                                   : copy_tokenizer(options.tokenizer, options.out);
}

}  // namespace pando
