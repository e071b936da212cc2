// The known families, each defined in the file of its name.
#pragma once

#include "model/family.h"

namespace pando::model {

extern const Family kLlama;
extern const Family kSmolLm3;
extern const Family kMistral;
extern const Family kMixtral;
extern const Family kMiniMaxM2;
extern const Family kMinistral3;
extern const Family kQwen2;
extern const Family kQwen2_5Vl;
extern const Family kQwen2Moe;
extern const Family kQwen3;
extern const Family kQwen3Vl;
extern const Family kQwen3Moe;
extern const Family kQwen3VlMoe;
extern const Family kPhi;
extern const Family kPhi3;
extern const Family kPhiMoe;
extern const Family kOlmo2;
extern const Family kOlmo3;
extern const Family kOlmoe;
extern const Family kOlmoHybrid;
extern const Family kQwen3_5;
extern const Family kQwen3_5Moe;
extern const Family kQwen3Next;
extern const Family kLfm2;
extern const Family kLfm2Moe;
extern const Family kGranite;
extern const Family kGraniteHybrid;
extern const Family kGraniteMoe;
extern const Family kGraniteMoeShared;
extern const Family kNemotron;
extern const Family kNemotronH;
extern const Family kArcee;
extern const Family kCohere;
extern const Family kCohere2;
extern const Family kGlm;
extern const Family kGlm4;
extern const Family kGlm4v;
extern const Family kGemma;
extern const Family kGemma2;
extern const Family kGemma3;
extern const Family kGemma4;
extern const Family kStableLm;
extern const Family kDots1;
extern const Family kSeedOss;
extern const Family kGptOss;
extern const Family kGptNeoX;
extern const Family kStarCoder2;
extern const Family kDeepSeekV2;
extern const Family kDeepSeekV3;
extern const Family kGlm4Moe;
extern const Family kGlm4vMoe;
extern const Family kGlm4MoeLite;
extern const Family kExaone4;
extern const Family kErnie4_5;
extern const Family kErnie4_5Moe;
extern const Family kHunYuan;
extern const Family kHunYuanMoe;

}  // namespace pando::model
