#include "model/families/list.h"

namespace pando::model {
namespace {

constexpr const Family* kFamilies[] = {
    &kLlama,  &kSmolLm3, &kMistral, &kMinistral3, &kQwen2, &kQwen3,        &kPhi3,
    &kOlmo2,  &kOlmo3,   &kGranite, &kCohere2,    &kGlm4,  &kGemma2,       &kGemma3,
    &kGemma4, &kSeedOss, &kQwen3_5, &kQwen3Next,  &kLfm2,  &kGraniteHybrid};

}  // namespace

std::span<const Family* const> families() { return kFamilies; }

const Family* find_family(std::string_view name) {
  for (const Family* family : kFamilies)
    if (family->name == name) return family;
  return nullptr;
}

}  // namespace pando::model
