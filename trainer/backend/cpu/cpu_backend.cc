#include "trainer/backend/cpu/cpu_backend.h"

#include <omp.h>

#include "dataset/base/error.h"
#include "trainer/backend/cpu/cpu_runner.h"

namespace recordpipe {
namespace {

// What went wrong inside oneDNN, in this project's words.
Error onednn_error(const dnnl::error& error) {
  const bool memory = error.status == dnnl_out_of_memory;
  return Error({.kind = memory ? ErrorKind::limit_exceeded : ErrorKind::unsupported,
                .reason = std::string("oneDNN: ") + error.what(),
                .hint = memory ? "a smaller batch or fewer layers need less memory" : ""});
}

}  // namespace

CpuBackend::CpuBackend(const CpuBackendOptions& options) {
  if (options.threads > 0) omp_set_num_threads(static_cast<int>(options.threads));
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
  if (!own)
    throw Error(
        {.kind = ErrorKind::invalid_argument, .reason = "the variables are another backend's"});
  try {
    return std::make_unique<CpuRunner>(network, *own, options);
  } catch (const dnnl::error& error) {
    throw onednn_error(error);
  }
}

}  // namespace recordpipe
