#include "recordpipe/trainer/backend/cpu/cpu_backend.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include <omp.h>

#include "dataset/base/available_cpus.h"
#include "recordpipe/base/error.h"
#include "trainer/backend/cpu/cpu_runner.h"

namespace recordpipe {
namespace {

constexpr size_t max_threads = 1024;

// OpenMP's default, read before a backend changes it. Limited by available_cpus() unless
// OMP_NUM_THREADS is set, because OpenMP ignores cgroup CPU quotas.
int default_threads() {
  static const int threads =
      std::getenv("OMP_NUM_THREADS")
          ? omp_get_max_threads()
          : std::min(omp_get_max_threads(), static_cast<int>(available_cpus()));
  return threads;
}

}  // namespace

CpuBackend::CpuBackend(const CpuBackendOptions& options) {
  if (options.threads > max_threads)
    throw Error({.kind = ErrorKind::invalid_argument,
                 .reason = "threads must be at most " + std::to_string(max_threads)});
  const int threads = default_threads();
  omp_set_num_threads(options.threads > 0 ? static_cast<int>(options.threads) : threads);
}

std::string CpuBackend::name() const {
  const dnnl::version_t* version = dnnl::version();
  return "cpu, " + std::to_string(omp_get_max_threads()) + " threads, oneDNN " +
         std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

std::unique_ptr<Variables> CpuBackend::make_variables(const Network& network) {
  return std::make_unique<CpuVariables>(network.variables());
}

std::unique_ptr<Runner> CpuBackend::make_runner(const Network& network, Variables& variables,
                                                const RunnerOptions& options) {
  auto* own = dynamic_cast<CpuVariables*>(&variables);
  check_runner(network, own, options);
  try {
    return std::make_unique<CpuRunner>(network, *own, options);
  } catch (const std::bad_alloc&) {
    fail_for_memory();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory) fail_for_memory();
    throw Error({.kind = ErrorKind::unsupported, .reason = std::string("oneDNN: ") + error.what()});
  }
}

}  // namespace recordpipe
