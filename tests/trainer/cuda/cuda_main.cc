// Runs the tests of a program that uses CudaBackend. Without a usable GPU it prints the reason and
// exits with status 77, which CTest reports as skipped. A GPU that fails is a failure.
#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/base/error.h"
#include "trainer/backend/cuda/cuda_backend.h"

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  try {
    std::printf("%s\n", recordpipe::CudaBackend().name().c_str());
  } catch (const recordpipe::Error& error) {
    const bool skipped = error.kind() == recordpipe::ErrorKind::unsupported;
    std::printf("%s: %s\n", skipped ? "skipped: no GPU" : "failed", error.what());
    return skipped ? 77 : 1;
  }
  return RUN_ALL_TESTS();
}
