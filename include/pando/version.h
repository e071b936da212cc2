#pragma once

#include <string>

namespace pando {

const char* version();         // "0.1.0"
const char* build_commit();    // the commit this library was built from
std::string processor_name();  // of the machine it runs on, as its maker calls it

}  // namespace pando
