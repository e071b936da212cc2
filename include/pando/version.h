#pragma once

namespace pando {

const char* version();       // "0.1.0"
const char* build_commit();  // the commit this library was built from

}  // namespace pando
