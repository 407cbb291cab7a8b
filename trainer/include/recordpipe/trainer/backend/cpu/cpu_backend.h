// The fast CPU backend, built on oneDNN and OpenMP.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "recordpipe/trainer/backend/backend.h"

namespace recordpipe {

struct CpuBackendOptions {
  // OpenMP threads, including the calling thread; at most 1024. 0 (default): OMP_NUM_THREADS, or
  // else available_cpus().
  size_t threads = 0;
};

// Computes in float32. On one machine, the same number of threads gives the same bits in every run.
// On a shared machine, start programs with OMP_WAIT_POLICY=passive or a small GOMP_SPINCOUNT;
// otherwise steps may take several times as long (trainer/README.md, "Threads"). OpenMP stores its
// number of threads per calling thread: make the backend, its runners and all calls from one
// thread. If a thread makes several backends, the last one sets the number.
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
