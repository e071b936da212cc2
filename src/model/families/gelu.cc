#include "model/families/gelu.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace pando::model {
namespace {

constexpr const char *kName = "hidden_act", *kByErf = "gelu";
constexpr std::string_view kByTanh[] = {"gelu_pytorch_tanh", "gelu_new", "gelu_fast"};

bool is_by_tanh(std::string_view name) {
  return std::ranges::find(kByTanh, name) != std::end(kByTanh);
}

}  // namespace

std::string read_gelu(Fields& fields, const char* usual, ModelConfig& config) {
  const std::string found = fields.string(kName, usual);
  const std::string name = found == kByErf || is_by_tanh(found) ? found : usual;
  config.activation = is_by_tanh(name) ? Activation::kUngatedGeluTanh : Activation::kUngatedGelu;
  return name;
}

void write_gelu(const ModelConfig& config, nlohmann::ordered_json& object) {
  object[kName] = config.activation == Activation::kUngatedGelu ? kByErf : kByTanh[0];
}

}  // namespace pando::model
