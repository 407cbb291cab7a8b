// The fast backend on the CPU, by oneDNN and OpenMP.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "recordpipe/trainer/backend/backend.h"

namespace recordpipe {

struct CpuBackendOptions {
  // OpenMP threads that compute, the caller's included, at most 1024; 0: as many as OMP_NUM_THREADS
  // says, or available_cpus().
  size_t threads = 0;
};

// Float32 throughout. The same number of threads gives the same bits at every run on the same
// machine. Start programs with OMP_WAIT_POLICY=passive, or a small GOMP_SPINCOUNT, unless the
// machine is theirs alone: else steps may take several times as long (trainer/README.md,
// "Threads"). OpenMP keeps its number of threads for each calling thread: make the backend, its
// runners and all calls from one thread, where the backend made last decides.
class CpuBackend final : public Backend {
 public:
  // Throws Error{invalid_argument} for too many threads.
  explicit CpuBackend(const CpuBackendOptions& options = {});

  // "cpu, 2 threads, oneDNN 2.6.3"
  std::string name() const override;
  std::unique_ptr<Variables> make_variables(const Network& network) override;
  std::unique_ptr<Runner> make_runner(const Network& network, Variables& variables,
                                      const RunnerOptions& options) override;
};

}  // namespace recordpipe
