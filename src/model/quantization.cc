#include "model/quantization.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>

#include "base/errors.h"
#include "base/fields.h"
#include "base/is_there.h"
#include "base/json.h"
#include "base/numbers/weight_types.h"
#include "base/python_json.h"
#include "model/config.h"
#include "model/quantization_file.h"
#include "model/unoffered.h"

namespace pando::model {
namespace {

using json = Json;
using Names = std::span<const std::string_view>;

// Fields that are read elsewhere, or that say how the file was made.
constexpr std::string_view kFp8Fields[] = {"quant_method",
                                           "activation_scheme",
                                           "weight_block_size",
                                           "modules_to_not_convert",
                                           "ignored_layers",
                                           "modules_to_convert",
                                           "fmt",
                                           "scale_fmt",
                                           "dequantize",
                                           "expert_dtype"};
constexpr std::string_view kMxfp4Fields[] = {"quant_method", "modules_to_not_convert",
                                             "dequantize"};
constexpr std::string_view kCompressedFields[] = {"quant_method",
                                                  "format",
                                                  "config_groups",
                                                  "ignore",
                                                  "quantization_status",
                                                  "global_compression_ratio",
                                                  "kv_cache_scheme",
                                                  "sparsity_config",
                                                  "version",
                                                  "dequantize",
                                                  "run_compressed",
                                                  "use_optimized_inference"};
constexpr std::string_view kGroupFields[] = {"targets", "weights", "input_activations",
                                             "output_activations", "format"};
constexpr std::string_view kArgumentFields[] = {
    "num_bits", "type",     "symmetric", "strategy",        "group_size",  "block_structure",
    "dynamic",  "actorder", "observer",  "observer_kwargs", "scale_dtype", "zp_dtype"};
// Fields of NVIDIA's ModelOpt, in config.json or in kModelOptFile.
constexpr std::string_view kModelOptFields[] = {
    "quant_method",    "quant_algo", "kv_cache_quant_algo", "kv_cache_scheme",
    "exclude_modules", "ignore",     "config_groups",       "producer"};
constexpr const char* kModelOptFile = "hf_quant_config.json";
// Fields of AWQ and GPTQ.
constexpr std::string_view kPackedFields[] = {
    "quant_method", "method", "bits", "w_bit", "group_size", "q_group_size", "zero_point",
    "version", "format", "checkpoint_format", "pack_dtype", "sym", "desc_act", "activation",
    "modules_to_not_convert", "lm_head", "dynamic", "meta", "backend", "tokenizer", "dataset",
    "damp_percent", "damp_auto_increment", "static_groups", "true_sequential", "act_group_aware",
    "mse", "model_seqlen", "model_name_or_path", "model_file_base_name", "block_name_to_quantize",
    "module_name_preceding_first_block", "modules_in_block_to_quantize", "batch_size",
    "pad_token_id", "max_input_length", "cache_block_outputs", "use_cuda_fp16", "use_exllama",
    "disable_exllama", "exllama_config", "do_fuse", "fuse_max_seq_len", "modules_to_fuse",
    // of AutoRound
    "provider", "autoround_version", "data_type", "scale_dtype", "act_bits", "act_data_type",
    "act_group_size", "act_sym", "act_dynamic", "amp", "enable_minmax_tuning",
    "enable_norm_bias_tuning", "enable_quanted_input", "gradient_accumulate_steps", "iters", "lr",
    "minmax_lr", "nsamples", "seqlen", "low_gpu_mem_usage", "quant_block_list",
    "to_quant_block_names", "supported_types", "static_attention_granularity",
    "static_kv_granularity"};

// A field that is absent or one of `values`, in letters of any case.
std::string one_of_values(Fields& fields, const char* name, std::string_view absent, Names values) {
  std::string value = fields.string(name, absent);
  std::ranges::transform(value, value.begin(), [](unsigned char c) { return std::tolower(c); });
  if (std::ranges::find(values, value) == values.end())
    fields.refuse(name, fmt::format("{}", fmt::join(values, " or ")), ErrorCode::kUnsupported);
  return value;
}

// -1 means all columns.
int64_t group_size(Fields& fields, const char* name) {
  const int64_t size = fields.integer(name, -1, kMaxWidth, 128);
  if (size == 0) fields.refuse(name, "-1 or a size above 0");
  return std::max<int64_t>(size, 0);
}

// Two sizes above 0.
std::optional<std::pair<int64_t, int64_t>> block_sizes(Fields& fields, const char* name) {
  const json* value = fields.find(name);
  if (value == nullptr) return std::nullopt;
  const auto is_size = [](const json& size) {
    return size.is_number_integer() && size.get<int64_t>() >= 1 && size.get<int64_t>() <= kMaxWidth;
  };
  if (value->is_array() && value->size() == 2 && std::ranges::all_of(*value, is_size))
    return std::pair((*value)[0].get<int64_t>(), (*value)[1].get<int64_t>());
  fields.refuse(name, "two sizes, rows and columns");
  return std::nullopt;
}

void read_fp8(Fields& fields, const json& object, Quantization& out) {
  constexpr std::string_view kActivations[] = {"dynamic", "static"}, kFormats[] = {"e4m3"};
  one_of_values(fields, "activation_scheme", "dynamic", kActivations);
  one_of_values(fields, "fmt", "e4m3", kFormats);
  refuse_unknown(fields, object, kFp8Fields);
  WeightScheme scheme = {.is_float = true};
  const auto sizes = block_sizes(fields, "weight_block_size");
  if (sizes || !fields.contains("weight_block_size")) {
    std::tie(scheme.block_rows, scheme.block_columns) = sizes.value_or(std::pair(128, 128));
    out.schemes.push_back(scheme);
  }
  if (!sizes) {
    out.schemes.push_back({.is_float = true});
    out.schemes.push_back({.is_float = true, .block_rows = 1});
  }
  out.has_activations = true;
}

void read_mxfp4(Fields& fields, const json& object, Quantization& out) {
  refuse_unknown(fields, object, kMxfp4Fields);
  out.schemes.push_back({.layout = QuantizedLayout::kBlocks,
                         .is_float = true,
                         .bits = 4,
                         .block_rows = 1,
                         .block_columns = 32});
}

// Reads the fields that AWQ and GPTQ share.
void read_packed(Fields& fields, const json& object, Quantization& out) {
  constexpr std::string_view kWords[] = {"int32"}, kTypes[] = {"int"};
  one_of_values(fields, "pack_dtype", "int32", kWords);
  one_of_values(fields, "data_type", "int", kTypes);
  refuse_unknown(fields, object, kPackedFields);
  out.has_activations = fields.has("activation") || fields.integer("act_bits", 1, 64, 16) < 16;
}

void read_awq(Fields& fields, const json& object, Quantization& out) {
  constexpr std::string_view kVersions[] = {"gemm"};
  const char* bits = fields.has("w_bit") ? "w_bit" : "bits";
  if (fields.integer(bits, 1, 64, 4) != 4) fields.refuse(bits, "4", ErrorCode::kUnsupported);
  one_of_values(fields, "version", "gemm", kVersions);
  one_of_values(fields, "format", "gemm", kVersions);
  if (fields.string("backend", "") == "llm-awq")
    fields.refuse("backend", "a backend that reads gemm packing", ErrorCode::kUnsupported);
  read_packed(fields, object, out);
  out.schemes.push_back({.layout = QuantizedLayout::kAwq,
                         .bits = 4,
                         .has_zeros = true,
                         .block_rows = 1,
                         .block_columns = group_size(
                             fields, fields.has("q_group_size") ? "q_group_size" : "group_size")});
}

void read_gptq(Fields& fields, const json& object, Quantization& out) {
  constexpr std::string_view kFormats[] = {"gptq", "gptq_v2"};
  const int64_t bits = fields.integer("bits", 1, 64);
  if (bits != 4 && bits != 8) fields.refuse("bits", "4 or 8", ErrorCode::kUnsupported);
  const std::string format = one_of_values(
      fields, fields.has("checkpoint_format") ? "checkpoint_format" : "format", "gptq", kFormats);
  read_packed(fields, object, out);
  out.schemes.push_back({.layout = QuantizedLayout::kGptq,
                         .bits = static_cast<int>(bits),
                         .has_zeros = true,
                         .block_rows = 1,
                         .block_columns = group_size(fields, "group_size")});
  out.zeros_less_one = format == "gptq";
}

// The member `weights` of a group of compressed-tensors.
void read_arguments(Fields& fields, const json& object, std::string_view format,
                    Quantization& out) {
  constexpr std::string_view kTypes[] = {"int", "float"};
  constexpr std::string_view kStrategies[] = {"tensor", "channel", "group", "block"};
  const bool is_packed = format == "pack-quantized";
  WeightScheme scheme;
  if (is_packed) scheme.layout = QuantizedLayout::kWords;
  scheme.is_float = one_of_values(fields, "type", "int", kTypes) == "float";
  scheme.has_zeros = !fields.boolean("symmetric", true);
  scheme.bits = static_cast<int>(fields.integer("num_bits", 1, 64, 8));
  if (scheme.bits != 8 && (scheme.is_float || scheme.bits != 4))
    fields.refuse("num_bits", scheme.is_float ? "8" : "4 or 8", ErrorCode::kUnsupported);
  if (scheme.is_float && (is_packed || format == "int-quantized"))
    fields.refuse("type", fmt::format("int for the format {}", format));
  if (!scheme.is_float && format == "float-quantized")
    fields.refuse("type", "float for the format float-quantized");
  if (const json* dynamic = fields.find("dynamic"); dynamic != nullptr && *dynamic != false)
    fields.refuse("dynamic", "false for weights", ErrorCode::kUnsupported);
  refuse_unknown(fields, object, kArgumentFields);

  const int64_t group = fields.has("group_size") ? group_size(fields, "group_size") : 0;
  const std::string strategy =
      one_of_values(fields, "strategy", group > 0 ? "group" : "tensor", kStrategies);
  if (strategy == "channel" || strategy == "group") scheme.block_rows = 1;
  if (strategy == "group") {
    if (group == 0) fields.refuse("group_size", "a size above 0");
    scheme.block_columns = group;
  }
  if (strategy == "block") {
    const auto sizes = block_sizes(fields, "block_structure");
    if (!sizes) fields.refuse("block_structure", "two sizes, rows and columns");
    std::tie(scheme.block_rows, scheme.block_columns) = sizes.value_or(std::pair(1, 1));
  }
  out.schemes.push_back(scheme);
}

constexpr std::string_view kCompressedFormats[] = {"pack-quantized", "int-quantized",
                                                   "float-quantized", "naive-quantized"};

// One of `config_groups`.
void read_group(Fields& fields, const json& object, std::string_view format, Quantization& out) {
  refuse_unknown(fields, object, kGroupFields);
  const std::string own = one_of_values(fields, "format", format == "mixed-precision" ? "" : format,
                                        kCompressedFormats);
  const auto is_there = [&](const char* name) {
    return fields.find(name) != nullptr && !fields.find(name)->empty();
  };
  out.has_activations =
      out.has_activations || is_there("input_activations") || is_there("output_activations");
  const json* weights = fields.find("weights");
  if (weights == nullptr) return;
  if (!weights->is_object()) return fields.refuse("weights", "an object");
  Fields arguments(*weights, fields.source() + ".weights");
  read_arguments(arguments, *weights, own, out);
  fields.fail(arguments.status());
}

void read_compressed(Fields& fields, const json& object, Quantization& out) {
  constexpr std::string_view kDense[] = {"dense"};
  std::vector<std::string_view> formats(std::begin(kCompressedFormats),
                                        std::end(kCompressedFormats));
  formats.emplace_back("mixed-precision");
  const std::string format = one_of_values(fields, "format", "", formats);
  if (const json* sparsity = fields.find("sparsity_config"); sparsity && !sparsity->empty()) {
    if (!sparsity->is_object()) return fields.refuse("sparsity_config", "an object");
    Fields own(*sparsity, fields.source() + ".sparsity_config");
    one_of_values(own, "format", "dense", kDense);
    fields.fail(own.status());
  }
  const json* kv = fields.find("kv_cache_scheme");
  out.has_keys_and_values = kv != nullptr && !kv->empty();
  refuse_unknown(fields, object, kCompressedFields);
  const json* groups = fields.find("config_groups");
  if (groups == nullptr || !groups->is_object())
    return fields.refuse("config_groups", "an object of groups");
  for (const auto& [name, group] : groups->items()) {
    Fields own(group, fmt::format("{}.config_groups.{}", fields.source(), name));
    if (group.is_object())
      read_group(own, group, format, out);
    else
      own.fail(make_error(ErrorCode::kUnsupported, "{} is {}, expected an object", own.source(),
                          found_text(group)));
    fields.fail(own.status());
  }
}

// Each matrix in FP8 has one scale. Without an algorithm, only keys and values are quantised.
void read_modelopt(Fields& fields, const json& object, Quantization& out) {
  constexpr std::string_view kAlgorithms[] = {"fp8"};
  if (fields.has("quant_algo")) {
    one_of_values(fields, "quant_algo", "", kAlgorithms);
    out.schemes.push_back({.is_float = true});
    out.has_activations = true;
  }
  const json* kv = fields.find("kv_cache_scheme");
  out.has_keys_and_values = fields.has("kv_cache_quant_algo") || (kv != nullptr && !kv->empty());
  refuse_unknown(fields, object, kModelOptFields);
}

// The type that the file names; bf16 for any other.
DType model_type_of(Fields& fields) {
  const std::string name = fields.string(fields.has("dtype") ? "dtype" : "torch_dtype", "");
  for (const WeightTypeInfo& info : weight_types())
    if (!info.torch.empty() && info.torch == name) return info.type;
  return DType::kBF16;
}

}  // namespace

std::optional<Quantization> read_quantization(Fields& fields) {
  constexpr const char* kName = "quantization_config";
  const json* object = fields.find(kName);
  if (object == nullptr) return std::nullopt;
  if (!object->is_object()) {
    fields.refuse(kName, "an object");
    return std::nullopt;
  }
  constexpr struct {
    const char* method;
    void (*read)(Fields& fields, const json& object, Quantization& out);
  } kReaders[] = {{"awq", read_awq},           {"compressed-tensors", read_compressed},
                  {"fp8", read_fp8},           {"gptq", read_gptq},
                  {"modelopt", read_modelopt}, {"mxfp4", read_mxfp4}};
  Fields own(*object, fmt::format("{}: {}", fields.source(), kName));
  const std::string method = own.string("quant_method", "");
  const auto reader =
      std::ranges::find_if(kReaders, [&](const auto& each) { return each.method == method; });
  Quantization quantization;
  quantization.widened = model_type_of(fields);
  if (reader == std::end(kReaders))
    own.refuse("quant_method", "awq, compressed-tensors, fp8, gptq, modelopt or mxfp4",
               ErrorCode::kUnsupported);
  else
    reader->read(own, *object, quantization);
  fields.fail(own.status());
  return quantization;
}

Status add_quantization(const ModelPath& directory, json& config) {
  constexpr const char *kName = "quantization_config", *kPart = "quantization";
  if (!config.is_object() || Fields(config).has(kName)) return {};
  const auto text = config.find("text_config");  // of a model with a vision tower
  if (text != config.end() && text->is_object() && Fields(*text).has(kName)) return {};
  const ModelPath path = directory / kModelOptFile;
  if (!is_there(path.path())) return {};
  const Result<std::string_view> said = path.text();
  if (!said) return said.error();
  const Result<json> whole = parse_python_object(*said, path.string());
  if (!whole) return whole.error();
  Fields fields(*whole, path.string());
  const json* part = fields.find(kPart);
  if (part == nullptr || !part->is_object()) {
    fields.refuse(kPart, "an object");
    return fields.status();
  }
  // Errors name this file.
  Fields own(*part, fmt::format("{}: {}", path.string(), kPart));
  Quantization ignored;
  read_modelopt(own, *part, ignored);
  if (!own.status()) return own.status();
  config[kName] = *part;
  config[kName]["quant_method"] = "modelopt";
  return {};
}

}  // namespace pando::model
