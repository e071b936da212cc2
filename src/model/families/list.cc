#include "model/families/list.h"

namespace pando::model {
namespace {

constexpr const Family* kFamilies[] = {
    &kLlama,      &kSmolLm3,     &kMistral,  &kMixtral,    &kMinistral3,
    &kQwen2,      &kQwen2_5Vl,   &kQwen2Moe, &kQwen3,      &kQwen3Vl,
    &kQwen3Moe,   &kQwen3VlMoe,  &kPhi3,     &kPhiMoe,     &kOlmo2,
    &kOlmo3,      &kOlmoe,       &kGranite,  &kGraniteMoe, &kGraniteMoeShared,
    &kCohere,     &kCohere2,     &kGlm,      &kGlm4v,      &kGlm4vMoe,
    &kGlm4,       &kGemma,       &kGemma2,   &kGemma3,     &kStableLm,
    &kDots1,      &kMiniMaxM2,   &kSeedOss,  &kGptOss,     &kQwen3_5,
    &kQwen3_5Moe, &kQwen3Next,   &kLfm2,     &kLfm2Moe,    &kGraniteHybrid,
    &kNemotron,   &kNemotronH,   &kArcee,    &kDeepSeekV2, &kDeepSeekV3,
    &kGlm4Moe,    &kGlm4MoeLite, &kExaone4,  &kErnie4_5,   &kErnie4_5Moe,
    &kHunYuan,    &kHunYuanMoe,  &kGemma4,   &kGptNeoX,    &kStarCoder2,
    &kPhi,        &kOlmoHybrid};

}  // namespace

std::span<const Family* const> families() { return kFamilies; }

const Family* find_family(std::string_view name) {
  for (const Family* family : kFamilies)
    if (family->name == name) return family;
  return nullptr;
}

}  // namespace pando::model
