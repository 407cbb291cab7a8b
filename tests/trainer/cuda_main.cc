// Runs the tests of a program that uses CudaBackend. Without a usable GPU it prints the reason and
// exits with status 77, which CTest reports as skipped.
#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recordpipe/error.h"
#include "trainer/backend/cuda/cuda_backend.h"

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  try {
    std::printf("%s\n", recordpipe::CudaBackend().name().c_str());
  } catch (const recordpipe::Error& error) {
    std::printf("skipped: no GPU: %s\n", error.what());
    return 77;
  }
  return RUN_ALL_TESTS();
}
