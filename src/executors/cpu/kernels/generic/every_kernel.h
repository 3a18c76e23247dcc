#pragma once

// The kernels that are the same C++ for every instruction set, and the table of all.

#include "executors/cpu/kernels/generic/attention.h"
#include "executors/cpu/kernels/generic/elementwise.h"
#include "executors/cpu/kernels/generic/hadamard.h"
#include "executors/cpu/kernels/generic/linear_int4.h"
#include "executors/cpu/kernels/generic/matmul.h"
#include "executors/cpu/kernels/generic/rms_norm.h"
#include "executors/cpu/kernels/generic/rope.h"
#include "executors/cpu/kernels/generic/softmax.h"
#include "executors/cpu/kernels/generic/table.h"
