#pragma once

#include <cstdint>

namespace pando {

using Token = int32_t;  // an id in a model's vocabulary

}  // namespace pando
