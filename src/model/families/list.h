// The known families, each defined in the file of its name.
#pragma once

#include "model/family.h"

namespace pando::model {

extern const Family kLlama;
extern const Family kMistral;
extern const Family kQwen2;
extern const Family kQwen3;
extern const Family kPhi3;
extern const Family kOlmo2;
extern const Family kQwen3_5;
extern const Family kQwen3Next;
extern const Family kLfm2;
extern const Family kGraniteHybrid;

}  // namespace pando::model
