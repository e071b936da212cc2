// Fields of config.json about weights that are integers or 8-bit floats with scales.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/dtype.h"

namespace pando {
class Fields;
}

namespace pando::model {

// Storage of a quantised matrix [n, k] in a checkpoint; quantized_matrix.h lists its tensors.
enum class QuantizedLayout {
  kElements,  // a byte for each weight, row by row
  kWords,     // rows of words, each of several weights of one row
  kAwq,       // transposed; a word has eight outputs of one input
  kGptq,      // transposed; a word has several inputs of one output
  kBlocks,    // groups of 32 four-bit floats with a power of two, of all experts in one tensor
};

// The quantisation of some matrices of a model.
struct WeightScheme {
  QuantizedLayout layout = QuantizedLayout::kElements;
  bool is_float = false;  // float8_e4m3fn; otherwise integers
  int bits = 8;
  bool has_zeros = false;  // zero points must be there
  // The weights that share a scale, a block of the matrix; 0: all rows or all columns.
  int64_t block_rows = 0, block_columns = 0;

  bool operator==(const WeightScheme&) const = default;
};

struct Quantization {
  std::vector<WeightScheme> schemes;  // shapes of a matrix's tensors say its own
  bool zeros_less_one = false;        // GPTQ files of the first format store zero points minus 1
  // f32, f16 or bf16: type of a matrix in memory if no type holds its integers and scales.
  DType widened = DType::kBF16;
  // Quantised activations or KV cache that the model was made for. Pando does not quantise them.
  bool has_activations = false, has_keys_and_values = false;

  bool operator==(const Quantization&) const = default;
};

// Reads the field `quantization_config`, if there is one. `fields`, of config.json, keeps the first
// error.
std::optional<Quantization> read_quantization(Fields& fields);

}  // namespace pando::model
