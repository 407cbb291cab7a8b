// Keeps fork() from happening while a thread is started.
#pragma once

namespace recordpipe::internal {

// While it exists, fork() waits. Hold one while a std::thread is constructed: pthread_create()
// takes the stack of an ended thread and frees its thread-local memory (glibc 2.36,
// get_cached_stack()); a child made in between would free that memory again.
class ForkBlock {
 public:
  ForkBlock();
  ~ForkBlock();
  ForkBlock(const ForkBlock&) = delete;
  ForkBlock& operator=(const ForkBlock&) = delete;
};

}  // namespace recordpipe::internal
