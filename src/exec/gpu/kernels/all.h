// All kernels.
#include "exec/gpu/kernels/attention.h"
#include "exec/gpu/kernels/heads.h"
#include "exec/gpu/kernels/pages.h"
#include "exec/gpu/kernels/products.h"
#include "exec/gpu/kernels/rows.h"
