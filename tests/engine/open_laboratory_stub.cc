#include "engine/open_laboratory.h"

namespace pando::testing {

void open_laboratory() {}

}  // namespace pando::testing
