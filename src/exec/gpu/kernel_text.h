// The source of all kernels, for the compilers of devices. It joins the files of kernels/all.h. The
// build puts it into the program (cmake/kernels.cmake).
#pragma once

#include <string_view>

namespace pando::exec::gpu {

std::string_view kernel_text();  // a 0 follows its last byte

}  // namespace pando::exec::gpu
