// For calls of Python while the interpreter may end.
#pragma once

namespace recordpipe::python {

// Calls function(argument). CPython 3.11 to 3.13 end a thread that asks for the GIL while the
// interpreter ends by pthread_exit(), which unwinds its stack: it terminates the process at the
// first destructor, and here it would call the C++ runtime that is linked to this library by the
// structures of another one. Such a thread sleeps in this function instead, until the process has
// ended. No object may have to be destroyed between it and Python.
void sleep_at_thread_end(void (*function)(void*), void* argument);

// The same for a function object.
template <class Function>
void sleep_at_thread_end(const Function& function) {
  sleep_at_thread_end([](void* object) { (*static_cast<const Function*>(object))(); },
                      const_cast<Function*>(&function));
}

}  // namespace recordpipe::python
