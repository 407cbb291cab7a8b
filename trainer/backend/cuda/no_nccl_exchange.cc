// Replaces nccl_exchange.cc in a build without NCCL.
#include "recordpipe/error.h"
#include "trainer/backend/cuda/replica_exchange.h"

namespace recordpipe::cuda {

std::unique_ptr<ReplicaExchange> exchange_by_nccl(Devices, Communicator&) {
  throw Error({.kind = ErrorKind::unsupported,
               .reason = "this program was built without NCCL, so GPUs can't add up gradients",
               .hint = "build it where nccl.h is; --variable-strategy CPU averages on the host"});
}

}  // namespace recordpipe::cuda
