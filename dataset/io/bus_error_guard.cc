#include "dataset/io/bus_error_guard.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recordpipe/base/error.h"

namespace recordpipe {

// One guarded range. Slots are reused and never freed, so that the signal handler can traverse
// their list lock-free.
struct BusErrorGuard::Slot {
  std::atomic<bool> taken = true;
  // A sequence lock: odd while begin and end are being changed.
  std::atomic<uint32_t> version = 0;
  std::atomic<uintptr_t> begin = 0;
  std::atomic<uintptr_t> end = 0;
  std::atomic<bool> tripped = false;
  Slot* next = nullptr;

  void set_range(uintptr_t new_begin, uintptr_t new_end) {
    version.fetch_add(1);
    begin = new_begin;
    end = new_end;
    version.fetch_add(1);
  }

  bool contains(uintptr_t address) const {
    const uint32_t before = version;
    const bool inside = begin <= address && address < end;
    return inside && before % 2 == 0 && version == before;
  }
};

struct BusErrorHandler {
  using Slot = BusErrorGuard::Slot;

  static inline std::atomic<Slot*> slots = nullptr;
  static inline struct sigaction previous = {};
  static inline uintptr_t page_size = 0;

  static void install() {
    page_size = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    struct sigaction action = {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    // `previous` is read first: a fault may occur as soon as the new handler is installed.
    if (::sigaction(SIGBUS, nullptr, &previous) != 0 ||
        ::sigaction(SIGBUS, &action, nullptr) != 0) {
      throw system_error(errno, "sigaction", {});
    }
  }

  static Slot* take_slot() {
    for (Slot* slot = slots; slot != nullptr; slot = slot->next) {
      bool free = false;
      if (slot->taken.compare_exchange_strong(free, true)) return slot;
    }
    auto* slot = new Slot;
    slot->next = slots;
    while (!slots.compare_exchange_weak(slot->next, slot)) {
    }
    return slot;
  }

  static bool replace_page(uintptr_t address) {
    for (Slot* slot = slots; slot != nullptr; slot = slot->next) {
      if (!slot->contains(address)) continue;
      // A direct system call: the sanitizers' interceptor of mmap() is not async-signal-safe.
      const long result = ::syscall(SYS_mmap, address & ~(page_size - 1), page_size, PROT_READ,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
      slot->tripped = true;
      return result != -1;
    }
    return false;
  }

  static void handle(int signal, siginfo_t* info, void* context) {
    const int saved_errno = errno;
    const bool from_kernel = info->si_code > 0;
    if (!from_kernel || !replace_page(reinterpret_cast<uintptr_t>(info->si_addr))) {
      pass_on(signal, info, context, from_kernel);
    }
    errno = saved_errno;
  }

  static void pass_on(int signal, siginfo_t* info, void* context, bool from_kernel) {
    if ((previous.sa_flags & SA_SIGINFO) != 0) {
      previous.sa_sigaction(signal, info, context);
    } else if (previous.sa_handler == SIG_IGN && !from_kernel) {
      return;
    } else if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
      // Restores the default action. The instruction faults again (a signal from another process is
      // raised again), and the process dies as it would without this handler.
      ::signal(SIGBUS, SIG_DFL);
      if (!from_kernel) ::raise(SIGBUS);
    } else {
      previous.sa_handler(signal);
    }
  }
};

BusErrorGuard::BusErrorGuard(std::span<const std::byte> range) {
  [[maybe_unused]] static const bool installed = (BusErrorHandler::install(), true);
  slot_ = BusErrorHandler::take_slot();
  slot_->tripped = false;
  const auto begin = reinterpret_cast<uintptr_t>(range.data());
  // The range is extended to the end of its last page: the kernel reports faults up to there.
  const uintptr_t mask = BusErrorHandler::page_size - 1;
  slot_->set_range(begin, (begin + range.size() + mask) & ~mask);
}

BusErrorGuard::~BusErrorGuard() {
  slot_->set_range(0, 0);
  slot_->taken = false;
}

bool BusErrorGuard::tripped() const { return slot_->tripped; }

}  // namespace recordpipe
