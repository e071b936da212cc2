#include "pando/version.h"

#include "generated/commit.h"

namespace pando {

const char* version() { return PANDO_VERSION; }
const char* build_commit() { return PANDO_COMMIT; }

}  // namespace pando
