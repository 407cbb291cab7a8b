// Stands for NCCL's library in nccl_exchange_test: several emulated GPUs of one process.
//
// As in NCCL, an operation starts on a stream when the stream's work before it is done, and ends
// when it has started on all of them. After fake_nccl_break(true) all communicators are in error,
// and operations don't end until one is aborted.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include <nccl.h>

#include "tests/trainer/cuda_emulation/machine.h"
#include "trainer/backend/cuda/device/device.h"
#include "trainer/backend/cuda/kernels/launch.h"

struct ncclComm {
  int rank = 0, size = 0;
};

namespace {

using namespace recordpipe::cuda;

struct Operation {
  const float* from;
  float* to;
  size_t count;
  bool is_mean;  // else a broadcast from the first
  ncclComm_t communicator;
  cudaStream_t stream;
};

int group_depth = 0;
std::vector<Operation> group;
bool is_broken = false, is_stuck = false;

void run(std::vector<Operation> operations) {
  // They must live as long as the streams' work.
  static auto& events = *new std::vector<std::unique_ptr<Event>>;
  const cudaStream_t first = operations.front().stream;
  for (const Operation& operation : operations) {
    make_current(operation.stream);
    wait_until(operation.stream, [] { return !is_stuck; });
    events.push_back(std::make_unique<Event>());
    events.back()->record(operation.stream);
    make_current(first);
    events.back()->wait_in(first);
  }
  run_on(first, [operations] {
    const Operation& source = operations.front();
    std::vector<float> values(source.from, source.from + source.count);
    if (source.is_mean) {
      for (size_t rank = 1; rank < operations.size(); ++rank)
        for (size_t i = 0; i < values.size(); ++i) values[i] += operations[rank].from[i];
      for (float& value : values) value *= 1 / static_cast<float>(operations.size());
    }
    for (const Operation& operation : operations)
      std::copy(values.begin(), values.end(), operation.to);
  });
  events.push_back(std::make_unique<Event>());
  events.back()->record(first);
  for (const Operation& operation : operations) {
    make_current(operation.stream);
    events.back()->wait_in(operation.stream);
  }
}

ncclResult_t add(const Operation& operation) {
  if (!operation.communicator || group_depth == 0) return ncclInvalidUsage;
  group.push_back(operation);
  return ncclSuccess;
}

}  // namespace

extern "C" {

void fake_nccl_break(bool broken) { is_broken = is_stuck = broken; }

ncclResult_t ncclGetUniqueId(ncclUniqueId*) { return ncclSuccess; }

ncclResult_t ncclCommInitRank(ncclComm_t* communicator, int size, ncclUniqueId, int rank) {
  if (group_depth == 0) return ncclInvalidUsage;  // it would wait for the other ranks
  *communicator = new ncclComm{.rank = rank, .size = size};
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  delete communicator;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  is_stuck = false;
  return ncclCommDestroy(communicator);
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* state) {
  if (!communicator) return ncclInvalidArgument;
  *state = is_broken ? ncclRemoteError : ncclSuccess;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclRemoteError ? "remote process exited" : "another error";
}

ncclResult_t ncclGroupStart() {
  ++group_depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (--group_depth > 0 || group.empty()) return ncclSuccess;
  const bool complete = group.size() == static_cast<size_t>(group.front().communicator->size);
  if (complete) run(group);
  group.clear();
  return complete ? ncclSuccess : ncclInvalidUsage;
}
ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream) {
  if (type != ncclFloat32 || operation != ncclAvg) return ncclInvalidArgument;
  return add({static_cast<const float*>(from), static_cast<float*>(to), count, true, communicator,
              stream});
}
ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t communicator, cudaStream_t stream) {
  if (type != ncclFloat32 || root != 0) return ncclInvalidArgument;
  return add({static_cast<const float*>(from), static_cast<float*>(to), count, false, communicator,
              stream});
}
}
