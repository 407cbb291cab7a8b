#include "trainer/programs/processes.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "dataset/base/parse_number.h"
#include "recordpipe/base/error.h"
#include "recordpipe/trainer/backend/replicated/mpi_communicator.h"
#include "tools/support/process/interrupt.h"
#include "trainer/programs/log.h"
#include "trainer/programs/usage_error.h"

namespace recordpipe {
namespace {

// The variables in which mpirun describes its processes: Open MPI's and MPICH's.
size_t number_of(const char* open_mpis, const char* mpichs) {
  for (const char* name : {open_mpis, mpichs})
    if (const char* text = std::getenv(name)) return parse_number<size_t>(text).value_or(0);
  return 0;
}

void refuse_several() {
  const size_t size = number_of("OMPI_COMM_WORLD_SIZE", "PMI_SIZE");
  if (size <= 1) return;
  if (number_of("OMPI_COMM_WORLD_RANK", "PMI_RANK") == 0)
    log_error(
        "mpirun has started {} processes: use --sync to train one network together, or "
        "start a single process",
        size);
  throw UsageError{2};
}

}  // namespace

std::unique_ptr<Communicator> join_processes(bool sync) {
  if (!sync) {
    refuse_several();
    return std::make_unique<SingleProcess>();
  }
  auto processes = join_mpi();
  if (processes->rank() > 0) {
    log_errors_only(processes->rank());
  }
  return processes;
}

void require_same_settings(Communicator& processes, const CheckpointSettings& settings) {
  std::string text;
  for (const auto& [name, value] : settings)
    if (name != "device") text += name + "=" + value + "\n";
  uint64_t size = text.size();
  processes.broadcast(std::as_writable_bytes(std::span(&size, 1)));
  std::string first = text;
  first.resize(size);
  processes.broadcast(std::as_writable_bytes(std::span(first)));
  if (!any(processes, text != first)) return;
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "the processes have different settings",
               .hint = "give every process that mpirun starts the same flags"});
}

int interrupted_anywhere(Communicator& processes) {
  std::vector<double> signals(processes.size());
  signals[processes.rank()] = interrupted();
  processes.all_reduce_sum(std::span(signals));
  const auto first = std::ranges::find_if(signals, [](double signal) { return signal != 0; });
  return first == signals.end() ? 0 : static_cast<int>(*first);
}

}  // namespace recordpipe
