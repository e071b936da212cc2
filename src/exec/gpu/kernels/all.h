// All kernels, in the order in which they need each other.
#include "exec/gpu/kernels/dialect.h"
