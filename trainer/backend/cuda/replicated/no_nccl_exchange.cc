// Replaces nccl_exchange.cc in a build without NCCL.
#include "recordpipe/base/error.h"
#include "trainer/backend/cuda/replicated/replica_exchange.h"

namespace recordpipe::cuda {

std::unique_ptr<ReplicaExchange> exchange_by_nccl(Devices, Communicator&) {
  throw Error(
      {.kind = ErrorKind::unsupported,
       .reason = "this program was built without NCCL, which averages gradients on GPUs",
       .hint = "rebuild it with nccl.h, or average on the host with --variable-strategy CPU"});
}

}  // namespace recordpipe::cuda
