// The source of all kernels, for the compilers of devices: the files of kernels/all.h, one after
// another. The build puts it into the program (cmake/kernels.cmake).
#pragma once

#include <string_view>

namespace pando::exec::gpu {

std::string_view kernel_text();  // ends with a 0 that is not counted

}  // namespace pando::exec::gpu
