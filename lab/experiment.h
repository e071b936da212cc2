// Every experiment works with this: the harness of `pando bench`, whose names are also names here.
#pragma once

#include "bench/harness.h"

namespace pando::lab {

using namespace bench;

}  // namespace pando::lab
