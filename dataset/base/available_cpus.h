// Determines how many threads can run at the same time: the default of every thread-count option.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

namespace recordpipe {

// Returns the minimum of the machine's hardware threads, the process's CPU affinity (taskset,
// cpusets) and its cgroup's CPU quota rounded up (docker run --cpus, Kubernetes limits), but at
// least 1. The result is not cached: a call takes about 0.1 ms.
size_t available_cpus();

// Returns the smallest CPU quota of this process's cgroup and its parents, in CPUs, rounded up:
// cpu.max (cgroup v2) or cpu.cfs_quota_us / cpu.cfs_period_us (v1). Empty if there is no readable
// quota. `root` is prepended to each path (/proc, /sys), for tests.
std::optional<size_t> cgroup_cpu_quota(const std::string& root = "");

// Returns `asked`, or available_cpus() if `asked` is 0. The result is at most
// max(16, 4 * available_cpus()): more threads would only cost memory.
inline size_t thread_count(size_t asked) {
  constexpr size_t kAlwaysAllowed = 16;
  if (asked == 0) return available_cpus();
  return asked <= kAlwaysAllowed ? asked
                                 : std::min(asked, std::max(kAlwaysAllowed, 4 * available_cpus()));
}

}  // namespace recordpipe
