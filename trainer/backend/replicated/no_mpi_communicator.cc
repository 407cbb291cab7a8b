// Replaces mpi_communicator.cc in a build without MPI.
#include "recordpipe/base/error.h"
#include "recordpipe/trainer/backend/replicated/mpi_communicator.h"

namespace recordpipe {

std::unique_ptr<Communicator> join_mpi() {
  throw Error(
      {.kind = ErrorKind::unsupported,
       .reason = "this program was built without MPI, which training in several processes needs",
       .hint = "install Open MPI (libopenmpi-dev, openmpi-bin) and rebuild"});
}

}  // namespace recordpipe
