#include "cli/laboratory.h"

#include "lab/lab.h"

namespace pando::cli {

void open_laboratory() { lab::open(); }

}  // namespace pando::cli
