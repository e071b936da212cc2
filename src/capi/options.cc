#include "capi/options.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/fields.h"
#include "base/json.h"
#include "base/nearest.h"
#include "pando/values/limits.h"

namespace pando::capi {
namespace {

Result<Json> read_object(std::string_view text, const char* source) {
  Result<Json> json = parse_json_object(text, source, LargeNumbers::kKept);
  if (!json) return with_code(ErrorCode::kInvalidArgument, json.error());
  return json;
}

Status only(const Json& json, const char* source, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : json.items())
    if (std::find(known.begin(), known.end(), name) == known.end())
      return in_file(source, with_nearest(name, known, invalid_field(name, "is unknown")));
  return {};
}

template <class Options>
Result<Options> checked(const Fields& fields, Options options) {
  if (Status status = fields.status(); !status) return status.error();
  return options;
}

constexpr int kMost = std::numeric_limits<int>::max();

}  // namespace

Result<ModelOptions> read_model_options(std::string_view text) {
  constexpr const char* kSource = "options of the model";
  const Result<Json> json = read_object(text, kSource);
  if (!json) return json.error();
  if (Status status =
          only(*json, kSource,
               {"weights", "tokenizer", "chat_template", "tool_format", "threads", "device"});
      !status)
    return status.error();
  Fields fields(*json, kSource, ErrorCode::kInvalidArgument);
  ModelOptions options;
  std::vector<std::pair<std::string_view, WeightType>> weights;
  for (const std::string_view name : weight_type_names())
    weights.emplace_back(name, *weight_type_of(name));
  options.weights = one_of<WeightType>(fields, "weights", weights);
  options.tokenizer = fields.string("tokenizer", "");
  options.chat_template = fields.string("chat_template", "");
  options.tool_format = fields.string("tool_format", "");
  options.threads = static_cast<int>(fields.integer("threads", 0, kMostThreads, 0));
  options.device = fields.string("device", "");
  return checked(fields, std::move(options));
}

Result<EngineOptions> read_engine_options(std::string_view text) {
  constexpr const char* kSource = "options of the engine";
  const Result<Json> json = read_object(text, kSource);
  if (!json) return json.error();
  if (Status status = only(*json, kSource,
                           {"sharing", "threads", "kv_memory", "kv_type", "context", "seed",
                            "place_every", "step_rows", "max_running", "max_open", "isa"});
      !status)
    return status.error();
  Fields fields(*json, kSource, ErrorCode::kInvalidArgument);
  EngineOptions options;
  const auto integer = [&](const char* name, int& out, int64_t least = 1, int64_t most = kMost) {
    out = static_cast<int>(fields.integer(name, least, most, out));
  };
  options.sharing = fields.string("sharing", options.sharing);
  integer("threads", options.threads, 0, kMostThreads);
  options.kv_memory =
      static_cast<size_t>(fields.integer("kv_memory", 0, std::numeric_limits<int64_t>::max(),
                                         static_cast<int64_t>(options.kv_memory)));
  constexpr std::pair<std::string_view, KvType> kKvTypes[] = {{"f16", KvType::kF16},
                                                              {"bf16", KvType::kBF16},
                                                              {"f32", KvType::kF32},
                                                              {"int8", KvType::kInt8}};
  options.kv_type = one_of<KvType>(fields, "kv_type", kKvTypes);
  integer("context", options.context, 0);
  options.seed =
      static_cast<uint64_t>(fields.integer("seed", 0, std::numeric_limits<int64_t>::max(), 0));
  integer("place_every", options.place_every);
  integer("step_rows", options.step_rows);
  integer("max_running", options.max_running);
  integer("max_open", options.max_open);
  options.isa = fields.string("isa", options.isa);
  return checked(fields, std::move(options));
}

Result<Json> read_question_json(std::string_view text, AnswerOptions& defaults) {
  constexpr const char* kSource = "options";
  Result<Json> json = read_object(text, kSource);
  if (!json) return json.error();
  Fields fields(*json, kSource, ErrorCode::kInvalidArgument);
  defaults.chat = fields.boolean("chat", false);
  defaults.logits_hash = fields.boolean("logits_hash", false);
  return checked(fields, std::move(*json));
}

std::span<const std::string_view> question_flags() {
  static constexpr std::string_view kFlags[] = {"chat", "logits_hash"};
  return kFlags;
}

}  // namespace pando::capi
