// The laboratory (lab/), where the program was built with it (PANDO_LAB): laboratory.cc, else
// laboratory_stub.cc.
#pragma once

namespace pando::cli {

// Adds what it has to the program's commands; before any of them is made.
void open_laboratory();

}  // namespace pando::cli
