// How many threads can run at the same time: the default wherever a number of threads can be given.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace recordpipe {

// The smallest of the machine's hardware threads, the process's CPU affinity (taskset, cpusets) and
// its cgroup's CPU quota (docker run --cpus, Kubernetes limits), rounded up; at least 1. Determined
// anew by each call, which takes some 0.1 ms.
size_t available_cpus();

// The CPU quota of this process's cgroup and of those around it, in CPUs, rounded up: the smallest
// of cpu.max (cgroup v2) and cpu.cfs_quota_us / cpu.cfs_period_us (v1). Nothing where there is no
// quota, or none that can be read. `root` is prepended to each path that is read (/proc, /sys).
std::optional<size_t> cgroup_cpu_quota(const std::string& root = "");

}  // namespace recordpipe
