// Tests CPU quotas as kernels and container runtimes set them, and malformed files.
#include "dataset/base/available_cpus.h"

#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sched.h>

#include "tests/support/temporary_directory.h"

namespace recordpipe {
namespace {

class CgroupCpuQuota : public testing::Test {
 protected:
  void file(const std::string& path, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(directory_ / path).parent_path());
    write_file(directory_ / path, content);
  }
  // Writes the cgroup and mountinfo files of this process.
  void proc(const std::string& cgroup, const std::string& mountinfo) {
    file("proc/self/cgroup", cgroup);
    file("proc/self/mountinfo", mountinfo);
  }
  std::optional<size_t> quota() const { return cgroup_cpu_quota(directory_.path()); }

  const TemporaryDirectory directory_;
};

const std::string kMounts =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const std::string kMountsV1 =
    "30 22 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "31 30 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "32 30 0:28 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n";

TEST_F(CgroupCpuQuota, IsNothingWhereThereIsNone) {
  EXPECT_EQ(quota(), std::nullopt);
  proc("", "");
  EXPECT_EQ(quota(), std::nullopt);
  proc("0::/\n", kMounts);
  EXPECT_EQ(quota(), std::nullopt);
  file("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), std::nullopt);
}

TEST_F(CgroupCpuQuota, IsRoundedUp) {
  proc("0::/\n", kMounts);
  for (const auto& [text, cpus] : {std::pair("200000 100000\n", 2),
                                   {"150000 100000\n", 2},
                                   {"1000 100000\n", 1},
                                   {"200001 100000", 3},
                                   {"50000 50000", 1}}) {
    file("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(quota(), cpus) << text;
  }
}

TEST_F(CgroupCpuQuota, IsTheSmallestUpTheHierarchy) {
  proc("0::/kubepods.slice/pod1/container\n", kMounts);
  file("sys/fs/cgroup/kubepods.slice/pod1/container/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), std::nullopt);
  file("sys/fs/cgroup/kubepods.slice/cpu.max", "1600000 100000\n");
  EXPECT_EQ(quota(), 16);
  file("sys/fs/cgroup/kubepods.slice/pod1/cpu.max", "300000 100000\n");
  EXPECT_EQ(quota(), 3);
  file("sys/fs/cgroup/kubepods.slice/pod1/container/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota(), 3);
  file("sys/fs/cgroup/kubepods.slice/pod1/other/cpu.max", "100000 100000\n");
  EXPECT_EQ(quota(), 3);
}

TEST_F(CgroupCpuQuota, OfVersion1) {
  proc("5:cpuset:/a\n4:cpu,cpuacct:/docker/1\n0::/\n", kMountsV1);
  const std::string folder = "sys/fs/cgroup/cpu,cpuacct/docker/1/";
  file(folder + "cpu.cfs_quota_us", "-1\n");
  file(folder + "cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), std::nullopt);
  file(folder + "cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(quota(), 3);
  file("sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "100000\n");
  file("sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 1);
}

// Without a cgroup namespace, a container's cgroup is the root of the mount, but /proc/self/cgroup
// contains the host's path.
TEST_F(CgroupCpuQuota, OfACgroupThatIsMountedByItself) {
  proc("0::/docker/1/inner\n", "30 22 0:26 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  file("sys/fs/cgroup/cpu.max", "500000 100000\n");
  EXPECT_EQ(quota(), 5);
  file("sys/fs/cgroup/inner/cpu.max", "200000 100000\n");
  EXPECT_EQ(quota(), 2);
  // A cgroup whose name only starts with the mounted one's name is a different cgroup.
  proc("0::/docker/12\n", "30 22 0:26 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  EXPECT_EQ(quota(), 5);
}

TEST_F(CgroupCpuQuota, IsNotLookedForOutsideOfWhatIsMounted) {
  file("cpu.max", "100000 100000\n");
  file("sys/fs/cpu.max", "100000 100000\n");
  file("sys/fs/cgroup/cpu.max", "700000 100000\n");
  for (const char* path : {"/..", "/../../..", "/../other", "/a/../../..", "..", ""}) {
    proc("0::" + std::string(path) + "\n", kMounts);
    EXPECT_EQ(quota(), 7) << path;
  }
}

TEST_F(CgroupCpuQuota, MountPointsMayHaveSpaces) {
  proc("0::/\n", "30 22 0:26 / /my\\040groups rw - cgroup2 cgroup rw\n");
  file("my groups/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota(), 4);
}

TEST_F(CgroupCpuQuota, NumbersThatNoKernelWritesAreNone) {
  proc("0::/\n", kMounts);
  for (const std::string text :
       {"", " ", "\n", "100000", "0 100000", "100000 0", "-1 100000", "100000 -1", "1e5 100000",
        "99999999999999999999999 100000", "100000 99999999999999999999999", "1 2 3", "x y",
        "100000\t100000", "max max", "0x10 0x10", "100000  100000"}) {
    file("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(quota(), std::nullopt) << text;
  }
  file("sys/fs/cgroup/cpu.max", "18446744073709551615 1\n");
  EXPECT_EQ(quota(), SIZE_MAX);
  file("sys/fs/cgroup/cpu.max", "1 18446744073709551615\n");
  EXPECT_EQ(quota(), 1);
}

TEST_F(CgroupCpuQuota, ReadsAnything) {
  file("sys/fs/cgroup/cpu.max", "100000 100000\n");
  std::mt19937_64 random(1);
  for (int i = 0; i < 500; ++i) {
    std::string cgroup = "4:cpu,cpuacct:/docker/1\n0::/a/b\n";
    std::string mounts = kMountsV1 + kMounts;
    for (std::string* text : {&cgroup, &mounts}) {
      for (uint64_t changes = random() % 6; changes > 0; --changes) {
        const char bytes[] = {'/',  ':',  ' ', '-', '\n',
                              '\\', '\0', '7', ',', static_cast<char>(random())};
        (*text)[random() % text->size()] = bytes[random() % sizeof bytes];
      }
      if (random() % 4 == 0) text->resize(random() % text->size());
    }
    proc(cgroup, mounts);
    quota();
  }
  // The parents of a path of half a MiB are not read.
  proc("0::" + std::string(1 << 19, '/') + "\n", kMounts);
  EXPECT_EQ(quota(), 1);
  proc(std::string(1 << 20, ':'), std::string(1 << 20, ' '));
  EXPECT_EQ(quota(), std::nullopt);
}

TEST(AvailableCpus, AreNoMoreThanTheMachineHas) {
  EXPECT_GE(available_cpus(), 1u);
  EXPECT_LE(available_cpus(), std::thread::hardware_concurrency());
  EXPECT_EQ(thread_count(0), available_cpus());
}

TEST(AvailableCpus, AreThoseOfTheAffinity) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  size_t cpu = 0;
  while (!CPU_ISSET(cpu, &before)) ++cpu;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(available_cpus(), 1u);
  EXPECT_EQ(thread_count(0), 1u);
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace recordpipe
