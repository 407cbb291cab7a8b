// Joins the processes that were started together; here, there is only one.
#include <cstdio>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/backend/cpu/cpu_backend.h"
#include "recordpipe/trainer/backend/replicated/mpi_communicator.h"
#include "recordpipe/trainer/backend/replicated/replicated_backend.h"

using namespace recordpipe;

int main() {
  try {
    const auto processes = join_mpi();
    const ReplicatedBackend backend(std::make_unique<CpuBackend>(), *processes);
    std::printf("%s\n", backend.name().c_str());
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
  }
}
