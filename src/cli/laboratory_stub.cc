#include "cli/laboratory.h"

namespace pando::cli {

void open_laboratory() {}

}  // namespace pando::cli
