#include "engine/open_laboratory.h"

#include "lab/tests/technique_testing.h"

namespace pando::testing {

void open_laboratory() { lab::open_techniques(); }

}  // namespace pando::testing
