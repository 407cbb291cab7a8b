#include "recordpipe/trainer/backend/replicated/mpi_communicator.h"

#include <algorithm>
#include <exception>
#include <string>

#include <mpi.h>

#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

// MPI counts values in int.
constexpr size_t max_at_once = size_t{1} << 30;

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(
      {.kind = ErrorKind::network, .reason = std::string(call) + ": " + std::string(text, length)});
}

// Calls work(part) for consecutive parts of the values, each within the limit.
template <class T, class Work>
void in_parts(std::span<T> values, Work work) {
  while (!values.empty()) {
    const std::span<T> part = values.first(std::min(values.size(), max_at_once));
    work(part.data(), static_cast<int>(part.size()));
    values = values.subspan(part.size());
  }
}

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator() {
    int rank = 0, size = 0;
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
    rank_ = static_cast<size_t>(rank);
    size_ = static_cast<size_t>(size);
    MPI_Comm machine = MPI_COMM_NULL;
    check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine),
          "MPI_Comm_split_type");
    check(MPI_Comm_rank(machine, &rank), "MPI_Comm_rank");
    check(MPI_Comm_free(&machine), "MPI_Comm_free");
    rank_on_machine_ = static_cast<size_t>(rank);
  }
  ~MpiCommunicator() override {
    if (std::uncaught_exceptions() == exceptions_) MPI_Finalize();
  }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  size_t rank() const override { return rank_; }
  size_t size() const override { return size_; }
  size_t rank_on_machine() const override { return rank_on_machine_; }

  void all_reduce_sum(std::span<float> values) override {
    in_parts(values, [](float* part, int count) {
      check(MPI_Allreduce(MPI_IN_PLACE, part, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD),
            "MPI_Allreduce");
    });
  }
  void all_reduce_sum(std::span<double> values) override {
    in_parts(values, [](double* part, int count) {
      check(MPI_Allreduce(MPI_IN_PLACE, part, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD),
            "MPI_Allreduce");
    });
  }
  void broadcast(std::span<std::byte> bytes) override {
    in_parts(bytes, [](std::byte* part, int count) {
      check(MPI_Bcast(part, count, MPI_BYTE, 0, MPI_COMM_WORLD), "MPI_Bcast");
    });
  }

 private:
  size_t rank_ = 0, size_ = 1, rank_on_machine_ = 0;
  const int exceptions_ = std::uncaught_exceptions();
};

}  // namespace

std::unique_ptr<Communicator> join_mpi() {
  int initialized = 0;
  check(MPI_Initialized(&initialized), "MPI_Initialized");
  if (initialized)
    throw Error(
        {.kind = ErrorKind::invalid_argument, .reason = "a process can call join_mpi() only once"});
  int provided = MPI_THREAD_SINGLE;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_FUNNELED)
    throw Error({.kind = ErrorKind::unsupported,
                 .reason = "this MPI doesn't support programs with threads"});
  return std::make_unique<MpiCommunicator>();
}

}  // namespace recordpipe
