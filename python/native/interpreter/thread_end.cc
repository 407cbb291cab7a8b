// Compiled without exceptions: pthread_cleanup_push() is then setjmp(), which glibc jumps back to,
// and not an object that the C++ runtime destroys.
#include "python/native/interpreter/thread_end.h"

#include <pthread.h>
#include <unistd.h>

namespace recordpipe::python {

void sleep_at_thread_end(void (*function)(void*), void* argument) {
  pthread_cleanup_push(
      [](void*) {
        while (true) pause();
      },
      nullptr);
  function(argument);
  pthread_cleanup_pop(0);
}

}  // namespace recordpipe::python
