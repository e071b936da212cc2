#include "model/rope_config.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/counted.h"
#include "base/errors.h"
#include "base/json.h"
#include "model/config.h"
#include "model/config_ranges.h"

namespace pando::model {
namespace {

using json = Json;

struct NamedType {
  RopeType type;
  std::string_view name;
  std::vector<std::string_view> fields;  // beside rope_type, rope_theta, partial_rotary_factor
};

const std::array<NamedType, 6>& types() {
  static const std::array<NamedType, 6> all = {{
      {RopeType::kDefault, "default", {}},
      {RopeType::kLinear, "linear", {"factor"}},
      {RopeType::kLlama3,
       "llama3",
       {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}},
      {RopeType::kYarn,
       "yarn",
       {"factor", "attention_factor", "mscale", "mscale_all_dim", "beta_fast", "beta_slow",
        "truncate", "original_max_position_embeddings", "finetuned"}},
      {RopeType::kLongRope,
       "longrope",
       {"short_factor", "long_factor", "factor", "attention_factor",
        "original_max_position_embeddings"}},
      {RopeType::kProportional, "proportional", {"factor"}},
  }};
  return all;
}

// Changes the rotation of sequences longer than max_position_embeddings, which no sequence is.
const NamedType& dynamic_type() {
  static const NamedType type = {RopeType::kDefault, "dynamic", {"factor"}};
  return type;
}

// The type "dynamic" with an alpha: changes the rotation of all sequences.
const NamedType& alpha_type() {
  static const NamedType type = {
      RopeType::kDefault,
      "dynamic",
      {"alpha", "factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"}};
  return type;
}

// Ministral 3: queries grow with their positions.
constexpr const char* kQueryGrowth = "llama_4_scaling_beta";
constexpr const char* kAllScale = "mscale_all_dim";
// Phi-3.5-MoE: the factor on cosines and sines of longrope, below and above the original context.
constexpr const char *kShortScale = "short_mscale", *kLongScale = "long_mscale";

// Checked here: a count of channels is made of it before all is read.
double read_share(Fields& fields, double fallback) {
  constexpr const char* kName = "partial_rotary_factor";
  return fields.real(kName, {"a number in (0, 1]", 0, 1}, fallback);
}

// Reads one object of rotary parameters, together with the file's fields.
class RopeReader {
 public:
  RopeReader(Fields& file, const json& object, const std::string& source, const RopeFields& allowed,
             int max_positions)
      : file_(file),
        object_(object),
        fields_(object, source),
        allowed_(allowed),
        max_positions_(max_positions) {}

  // `rope` holds the fields outside of the object.
  RopeConfig read(RopeConfig rope, int head_dim) {
    const NamedType* type = read_type();
    if (type == nullptr) return rope;
    for (const auto& [name, value] : object_.items())
      if (!is_known(*type, name) && !value.is_null())
        fields_.refuse(name, fmt::format("no such field for rope_type \"{}\"", type->name),
                       ErrorCode::kUnsupported);
    rope.type = type->type;
    rope.theta = fields_.real("rope_theta", kThetas, rope.theta);
    rope.rotary_share = read_share(fields_, rope.rotary_share);
    if (rope.type == RopeType::kDefault) return rope;
    if (rope.type == RopeType::kProportional) {
      rope.factor = read_factor(1.0);
      return rope;
    }
    if (rope.type != RopeType::kLinear) rope.original_positions = read_original(rope.type);
    if (rope.type == RopeType::kLongRope) {
      read_longrope(rope, head_dim);
    } else if (rope.type == RopeType::kYarn) {
      read_yarn(rope);
    } else {
      rope.factor = read_factor(std::nullopt);
    }
    if (rope.type == RopeType::kLlama3) {
      rope.low_freq_factor = fields_.positive("low_freq_factor");
      rope.high_freq_factor = fields_.positive("high_freq_factor");
      if (rope.high_freq_factor <= rope.low_freq_factor)
        fields_.refuse("high_freq_factor", "a number above 'low_freq_factor'");
    }
    return rope;
  }

  Status status() const { return fields_.status(); }

 private:
  const NamedType* read_type() {
    std::string name = fields_.string("rope_type", fields_.string("type", "default"));
    if (std::ranges::find(allowed_.longrope_names, name) != allowed_.longrope_names.end())
      name = "longrope";
    if (allowed_.sections && name == "mrope") name = "default";
    if (allowed_.alpha && name == "dynamic" && fields_.find("alpha") != nullptr)
      return &alpha_type();
    if (name == "dynamic") return &dynamic_type();
    for (const NamedType& type : types())
      if (type.name == name) return &type;
    fields_.refuse(fields_.find("rope_type") != nullptr ? "rope_type" : "type",
                   "default, linear, llama3, yarn, longrope or proportional",
                   ErrorCode::kUnsupported);
    return nullptr;
  }

  bool is_known(const NamedType& type, std::string_view name) const {
    if (allowed_.sections && (name == "mrope_section" || name == "mrope_interleaved")) return true;
    if (allowed_.mscales && type.type == RopeType::kLongRope &&
        (name == kShortScale || name == kLongScale))
      return true;
    if (allowed_.query_growth && type.type == RopeType::kYarn &&
        (name == kQueryGrowth || name == "max_position_embeddings"))
      return true;
    return name == "rope_type" || name == "type" || name == "rope_theta" ||
           name == "partial_rotary_factor" ||
           std::ranges::find(type.fields, name) != type.fields.end();
  }

  int read_original(RopeType type) {
    constexpr const char* kName = "original_max_position_embeddings";
    const bool outside = file_.find(kName) != nullptr;  // it counts first where both are there
    Fields& fields = outside ? file_ : fields_;
    std::optional<int64_t> fallback = max_positions_;
    if (type == RopeType::kLongRope) fallback.reset();
    return static_cast<int>(fields.integer(kName, 2, kMaxPositions, fallback));
  }

  double read_factor(std::optional<double> fallback) {
    constexpr RealRange kFactors = {"a number in [1, 1e6]", 1, 1e6, true};
    const double factor = fields_.real("factor", kFactors, fallback);
    if (!kFactors.contains(factor)) fields_.refuse("factor", kFactors.text);
    return factor;
  }

  double read_attention_factor(double fallback) {
    constexpr RealRange kFactors = {"a number in (0, 1000]", 0, 1e3};
    const double factor = fields_.real("attention_factor", kFactors, fallback);
    if (!kFactors.contains(factor)) fields_.refuse("attention_factor", kFactors.text);
    return factor;
  }

  double context_ratio(const RopeConfig& rope) const {
    return std::max(1.0, static_cast<double>(max_positions_) / rope.original_positions);
  }

  void read_yarn(RopeConfig& rope) {
    rope.factor = read_factor(context_ratio(rope));
    const auto scale = [&](double mscale) { return 0.1 * mscale * std::log(rope.factor) + 1.0; };
    double attention = scale(1.0);
    if (fields_.find("mscale") != nullptr && fields_.find(kAllScale) != nullptr)
      attention = scale(fields_.positive("mscale")) / scale(fields_.positive(kAllScale));
    rope.attention_factor = read_attention_factor(attention);
    const json* of_scores = fields_.find(kAllScale);
    if (allowed_.score_mscale && of_scores != nullptr && *of_scores != 0.0)
      rope.score_mscale = fields_.positive(kAllScale);
    if (rope.score_mscale > 1e3) fields_.refuse(kAllScale, "a number in [0, 1000]");
    rope.beta_fast = fields_.positive("beta_fast", rope.beta_fast);
    rope.beta_slow = fields_.positive("beta_slow", rope.beta_slow);
    if (rope.beta_fast < rope.beta_slow)
      fields_.refuse("beta_fast", fmt::format("at least 'beta_slow' {}", rope.beta_slow));
    rope.truncate = fields_.boolean("truncate", true);
    const json* growth = fields_.find(kQueryGrowth);
    if (growth != nullptr && *growth != 0.0)
      rope.query_growth =
          static_cast<float>(fields_.real(kQueryGrowth, {"a number in [0, 1000]", 0, 1e3, true}));
    if (rope.theta <= 1.0) fields_.refuse("rope_theta", "a number above 1");
  }

  void read_longrope(RopeConfig& rope, int head_dim) {
    const size_t n = static_cast<size_t>(rope.rotary_dim(head_dim)) / 2;
    rope.short_factor = read_list("short_factor", n);
    rope.long_factor = read_list("long_factor", n);
    const double factor = read_factor(context_ratio(rope));
    rope.attention_factor = read_attention_factor(
        std::sqrt(1.0 + std::log(factor) / std::log(rope.original_positions)));
    if (!allowed_.mscales || fields_.find(kShortScale) == nullptr) return;
    rope.attention_factor = fields_.positive(kShortScale);
    if (rope.attention_factor > 1e3) fields_.refuse(kShortScale, "a number in (0, 1000]");
    if (fields_.positive(kLongScale) != rope.attention_factor)
      fields_.refuse(kLongScale, fmt::format("the value of '{}'", kShortScale),
                     ErrorCode::kUnsupported);
  }

  std::vector<double> read_list(const char* name, size_t n) {
    const json* list = fields_.find(name);
    const auto positive = [](const json& value) {
      return value.is_number() && value.get<double>() > 0.0 && value.get<double>() <= 1e6;
    };
    const std::vector<double> ones(n, 1.0);
    if (list == nullptr || !list->is_array()) {
      fields_.refuse(name, fmt::format("a list of {} numbers", n));
      return ones;
    }
    if (list->size() != n) {
      fields_.fail(
          in_file(fields_.source(),
                  bad_file("'{}' has {}, expected {} numbers, one for each pair of channels", name,
                           counted(list->size(), "entries"), n)));
      return ones;
    }
    const auto bad = std::ranges::find_if_not(*list, positive);
    if (bad != list->end()) {
      fields_.fail(place_in(name, static_cast<size_t>(bad - list->begin())), *bad,
                   "a number in (0, 1e6]");
      return ones;
    }
    return list->get<std::vector<double>>();
  }

  Fields& file_;
  const json& object_;
  Fields fields_;
  const RopeFields& allowed_;
  int max_positions_;
};

}  // namespace

namespace {

// The rotary parameters of a type of layer; null if none are there.
const json* parameters_of(const json& object, std::string_view layer_type) {
  const auto found = object.is_object() ? object.find(layer_type) : object.end();
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

void check_rotated(Fields& fields, const RopeConfig& rope, const RopeFields& allowed,
                   int head_dim) {
  const int dim = rope.rotary_dim(head_dim);
  if (dim < 2 || dim % 2 != 0)
    fields.refuse("partial_rotary_factor",
                  fmt::format("an even number up to the {} channels of a head", head_dim));
  if (rope.rotary_share != 1.0 && !allowed.partial)
    fields.refuse("partial_rotary_factor", "1", ErrorCode::kUnsupported);
}

// `rope` holds what the file says outside of the object.
RopeConfig read_object(Fields& fields, const std::string& place, const json& object,
                       const RopeFields& allowed, const RopeConfig& rope, int head_dim,
                       int max_positions) {
  if (!object.is_object()) {
    fields.fail(place, object, "an object");
    return rope;
  }
  RopeReader reader(fields, object, fmt::format("{}: '{}'", fields.source(), place), allowed,
                    max_positions);
  const RopeConfig read =
      reader.read({.theta = rope.theta, .rotary_share = rope.rotary_share}, head_dim);
  if (Status status = reader.status(); !status) fields.fail(status.error());
  return read;
}

}  // namespace

RopeConfig read_rope(Fields& fields, const RopeFields& allowed, int head_dim, int max_positions) {
  RopeConfig outside = {.theta = allowed.theta, .rotary_share = allowed.rotary_share};
  outside.theta = fields.real("rope_theta", kThetas, outside.theta);
  outside.rotary_share = read_share(fields, outside.rotary_share);
  RopeConfig rope = outside;
  bool first = true;
  for (const char* name : {"rope_parameters", "rope_scaling"}) {
    const json* object = fields.find(name);
    if (object == nullptr) continue;
    std::string place = name;
    if (allowed.layer_type != nullptr && place == "rope_parameters") {
      place = fmt::format("{}.{}", name, allowed.layer_type);
      object = parameters_of(*object, allowed.layer_type);
      if (object == nullptr) {
        fields.refuse(name, fmt::format("an object with '{}'", allowed.layer_type));
        continue;
      }
    }
    const RopeConfig read =
        read_object(fields, place, *object, allowed, rope, head_dim, max_positions);
    if (fields.find("rope_theta") != nullptr && read.theta != outside.theta)
      fields.refuse(name,
                    fmt::format("the rope_theta {} outside 'rope_parameters'", outside.theta));
    if (!first && read != rope) fields.refuse(name, "the same value as in 'rope_parameters'");
    rope = read;
    first = false;
  }
  check_rotated(fields, rope, allowed, head_dim);
  return rope;
}

RopeConfig read_rope_of(Fields& fields, std::string_view layer_type, const RopeFields& allowed,
                        int head_dim, int max_positions) {
  constexpr const char* kName = "rope_parameters";
  RopeConfig rope = {.theta = allowed.theta, .rotary_share = allowed.rotary_share};
  const json* all = fields.find(kName);
  const json* object = all == nullptr ? nullptr : parameters_of(*all, layer_type);
  if (object == nullptr) return rope;
  rope = read_object(fields, fmt::format("{}.{}", kName, layer_type), *object, allowed, rope,
                     head_dim, max_positions);
  check_rotated(fields, rope, allowed, head_dim);
  return rope;
}

namespace {

// Scaling of the rotation; empty if there is none.
nlohmann::ordered_json scaling_of(const RopeConfig& rope) {
  nlohmann::ordered_json scaling = nlohmann::ordered_json::object();
  if (rope.type == RopeType::kDefault) return scaling;
  scaling["rope_type"] = std::ranges::find(types(), rope.type, &NamedType::type)->name;
  if (rope.type != RopeType::kLongRope) scaling["factor"] = rope.factor;
  if (rope.type == RopeType::kProportional) return scaling;
  if (rope.type != RopeType::kLinear)
    scaling["original_max_position_embeddings"] = rope.original_positions;
  if (rope.type == RopeType::kLlama3) {
    scaling["low_freq_factor"] = rope.low_freq_factor;
    scaling["high_freq_factor"] = rope.high_freq_factor;
  } else if (rope.type == RopeType::kYarn) {
    scaling["attention_factor"] = rope.attention_factor;
    scaling["beta_fast"] = rope.beta_fast;
    scaling["beta_slow"] = rope.beta_slow;
    scaling["truncate"] = rope.truncate;
    if (rope.query_growth != 0.0f)
      scaling[kQueryGrowth] = json::parse(fmt::format("{}", rope.query_growth));
    if (rope.score_mscale != 0.0) scaling[kAllScale] = rope.score_mscale;
  } else if (rope.type == RopeType::kLongRope) {
    scaling["attention_factor"] = rope.attention_factor;
    scaling["short_factor"] = rope.short_factor;
    scaling["long_factor"] = rope.long_factor;
  }
  return scaling;
}

}  // namespace

void write_rope(const RopeConfig& rope, nlohmann::ordered_json& object) {
  if (rope.rotary_share == 0.0) return;
  object["rope_theta"] = rope.theta;
  if (rope.rotary_share != 1.0) object["partial_rotary_factor"] = rope.rotary_share;
  object["rope_scaling"] = nullptr;
  if (rope.type == RopeType::kDefault) return;
  if (rope.type == RopeType::kLongRope)
    object["original_max_position_embeddings"] = rope.original_positions;
  object["rope_scaling"] = scaling_of(rope);
}

nlohmann::ordered_json rope_parameters(const RopeConfig& rope) {
  nlohmann::ordered_json parameters = scaling_of(rope);
  if (parameters.empty()) parameters["rope_type"] = "default";
  parameters["rope_theta"] = rope.theta;
  if (rope.rotary_share != 1.0) parameters["partial_rotary_factor"] = rope.rotary_share;
  return parameters;
}

}  // namespace pando::model
