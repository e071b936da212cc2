// All kernels.
#include "exec/gpu/kernels/attention.h"
#include "exec/gpu/kernels/heads.h"
#include "exec/gpu/kernels/many_products.h"
#include "exec/gpu/kernels/pages.h"
#include "exec/gpu/kernels/quantise.h"
#include "exec/gpu/kernels/rows.h"
#include "exec/gpu/kernels/value_products.h"
