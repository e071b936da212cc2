// The known families, each defined in the file of its name.
#pragma once

#include "model/family.h"

namespace pando::model {

extern const Family kLlama;
extern const Family kSmolLm3;
extern const Family kMistral;
extern const Family kMinistral3;
extern const Family kQwen2;
extern const Family kQwen3;
extern const Family kPhi3;
extern const Family kOlmo2;
extern const Family kOlmo3;
extern const Family kQwen3_5;
extern const Family kQwen3Next;
extern const Family kLfm2;
extern const Family kGranite;
extern const Family kGraniteHybrid;
extern const Family kCohere2;
extern const Family kGlm4;
extern const Family kGemma2;
extern const Family kGemma3;
extern const Family kGemma4;
extern const Family kSeedOss;

}  // namespace pando::model
