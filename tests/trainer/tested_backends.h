// Lists the backends for tests of guarantees that every backend gives.
#pragma once

#include <gtest/gtest.h>

#ifdef RECORDPIPE_TEST_CUDA
#include "trainer/backend/cuda/cuda_backend.h"
#else
#include "recordpipe/trainer/backend/cpu/cpu_backend.h"
#include "recordpipe/trainer/backend/reference/reference_backend.h"
#endif

namespace recordpipe {

#ifdef RECORDPIPE_TEST_CUDA
using TestedFloatBackends = testing::Types<CudaBackend>;
using TestedBackends = TestedFloatBackends;
#else
using TestedFloatBackends = testing::Types<CpuBackend, ReferenceBackend<float> >;
using TestedBackends =
    testing::Types<CpuBackend, ReferenceBackend<float>, ReferenceBackend<double> >;
#endif

}  // namespace recordpipe
