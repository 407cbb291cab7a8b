// Averages gradients with NCCL, directly between GPUs.
#include <cstddef>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <dlfcn.h>
#include <nccl.h>

#include "recordpipe/base/error.h"
#include "recordpipe/trainer/backend/backend.h"
#include "trainer/backend/cuda/replicated/replica_exchange.h"

// Tests replace it.
#ifndef RECORDPIPE_NCCL_LIBRARY
#define RECORDPIPE_NCCL_LIBRARY "libnccl.so." + std::to_string(NCCL_MAJOR)
#endif

namespace recordpipe::cuda {
namespace {

// NCCL's functions. The library is loaded at first use and stays loaded.
struct Nccl {
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclBroadcast) broadcast = nullptr;
  decltype(&ncclCommAbort) abort = nullptr;
  decltype(&ncclCommGetAsyncError) async_error = nullptr;
  decltype(&ncclCommDestroy) destroy = nullptr;
  decltype(&ncclCommInitRank) init_rank = nullptr;
  decltype(&ncclGetErrorString) error_string = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  std::string missing;  // the reason why it can't be used; empty if it can

  Nccl() {
    const std::string name = RECORDPIPE_NCCL_LIBRARY;
    void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      missing = ::dlerror();
      return;
    }
    find(library, "ncclAllReduce", all_reduce);
    find(library, "ncclBroadcast", broadcast);
    find(library, "ncclCommAbort", abort);
    find(library, "ncclCommDestroy", destroy);
    find(library, "ncclCommGetAsyncError", async_error);
    find(library, "ncclCommInitRank", init_rank);
    find(library, "ncclGetErrorString", error_string);
    find(library, "ncclGetUniqueId", get_unique_id);
    find(library, "ncclGroupEnd", group_end);
    find(library, "ncclGroupStart", group_start);
  }

  template <class Function>
  void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library, name));
    if (!function) missing = std::string("it has no ") + name;
  }

  void check(ncclResult_t result, const char* action) const {
    if (result != ncclSuccess)
      throw DeviceError({.kind = ErrorKind::io,
                         .reason = std::string(action) + " failed: " + error_string(result),
                         .hint = "set NCCL_DEBUG=INFO in the environment for details"});
  }
};

const Nccl& nccl() {
  static const Nccl functions;
  return functions;
}

class NcclExchange final : public ReplicaExchange {
 public:
  NcclExchange(Devices devices, Communicator& processes)
      : devices_(std::move(devices)), communicators_(devices_.size()) {
    ncclUniqueId id = {};
    if (processes.rank() == 0) nccl().check(nccl().get_unique_id(&id), "starting NCCL");
    processes.broadcast(std::as_writable_bytes(std::span(&id, 1)));
    const size_t first = processes.rank() * devices_.size();
    try {
      for_each_device("joining the other GPUs", [&](size_t i) {
        return nccl().init_rank(&communicators_[i],
                                static_cast<int>(processes.size() * devices_.size()), id,
                                static_cast<int>(first + i));
      });
      for (const auto& device : devices_) device->set_watch([this] { check(); });
    } catch (...) {
      end_watch();
      leave(nccl().abort);
      throw;
    }
  }
  // Does not wait for the others if this process fails: they may never arrive.
  ~NcclExchange() override {
    end_watch();
    leave(std::uncaught_exceptions() == exceptions_ ? nccl().destroy : nccl().abort);
  }
  NcclExchange(const NcclExchange&) = delete;
  NcclExchange& operator=(const NcclExchange&) = delete;

  void average(std::span<float* const> buffers, size_t size) override {
    for_each_device("averaging gradients", [&](size_t i) {
      return nccl().all_reduce(buffers[i], buffers[i], size, ncclFloat32, ncclAvg,
                               communicators_[i], devices_[i]->compute());
    });
  }

  void share(std::span<float* const> buffers, size_t size) override {
    for_each_device("sharing statistics", [&](size_t i) {
      return nccl().broadcast(buffers[i], buffers[i], size, ncclFloat32, /*root=*/0,
                              communicators_[i], devices_[i]->compute());
    });
  }

 private:
  // Throws if communication has failed since the calls above. The work on the GPUs ends with the
  // communicators; it would wait forever.
  void check() {
    if (failed_) nccl().check(*failed_, "communication between GPUs");
    for (const ncclComm_t communicator : communicators_) {
      ncclResult_t state = ncclSuccess;
      nccl().check(nccl().async_error(communicator, &state), "asking NCCL for its state");
      if (state == ncclSuccess || state == ncclInProgress) continue;
      failed_ = state;
      leave(nccl().abort);
      nccl().check(state, "communication between GPUs");
    }
  }

  void end_watch() {
    for (const auto& device : devices_) device->set_watch({});
  }

  // One thread calls NCCL for several GPUs. The calls must be grouped; otherwise the first one
  // would wait for the others.
  template <class Call>
  void for_each_device(const char* action, const Call& call) {
    nccl().check(nccl().group_start(), action);
    ncclResult_t result = ncclSuccess;
    for (size_t i = 0; i < devices_.size() && result == ncclSuccess; ++i) {
      devices_[i]->activate();
      result = call(i);
    }
    const ncclResult_t end = nccl().group_end();
    nccl().check(result, action);
    nccl().check(end, action);
  }

  void leave(ncclResult_t (*how)(ncclComm_t)) {
    for (ncclComm_t& communicator : communicators_)
      if (communicator) how(std::exchange(communicator, nullptr));
  }

  const Devices devices_;
  std::vector<ncclComm_t> communicators_;  // one per device
  std::optional<ncclResult_t> failed_;     // what check() has found
  const int exceptions_ = std::uncaught_exceptions();
};

}  // namespace

std::unique_ptr<ReplicaExchange> exchange_by_nccl(Devices devices, Communicator& processes) {
  const std::string& missing = nccl().missing;
  if (any(processes, !missing.empty()))
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "NCCL can't be loaded: " +
                           (missing.empty() ? "another process lacks it" : missing),
                 .hint =
                     "install NCCL in the loader's path (LD_LIBRARY_PATH), or average on the host "
                     "with --variable-strategy CPU"});
  return std::make_unique<NcclExchange>(std::move(devices), processes);
}

}  // namespace recordpipe::cuda
