// The techniques of the laboratory, where it is built (PANDO_LAB): open_laboratory.cc, else
// open_laboratory_stub.cc.
#pragma once

namespace pando::testing {

void open_laboratory();

}  // namespace pando::testing
