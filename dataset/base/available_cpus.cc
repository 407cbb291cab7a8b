// /proc/self/mountinfo lists the mount points of the cgroup hierarchies, /proc/self/cgroup the
// cgroups of this process. A quota may be set at any level up to the mount point.
#include "dataset/base/available_cpus.h"

#include <cerrno>
#include <cstdint>
#include <fstream>
#include <limits>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include <sched.h>

#include "dataset/base/parse_number.h"

namespace recordpipe {
namespace {

// Read limit for the files in /proc; machines with thousands of mounts stay below it.
constexpr size_t kMaxFileSize = size_t{4} << 20;
// Limit for cgroup paths (longer ones are ignored), and read limit for quota files.
constexpr size_t kMaxPathSize = 4096;

// Reads the file, at most `max_size` bytes. Returns an empty string if there is no such file.
std::string read_text(const std::string& path, size_t max_size) {
  std::string text;
  std::ifstream file(path, std::ios::binary);
  while (file && text.size() < max_size) {
    const size_t before = text.size();
    text.resize(std::min(before + 65'536, max_size));
    file.read(text.data() + before, static_cast<std::streamsize>(text.size() - before));
    text.resize(before + static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  }
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

bool contains(std::string_view list, std::string_view name) {
  const auto names = split(list, ',');
  return std::ranges::find(names, name) != names.end();
}

// Resolves octal escapes: mountinfo writes a space in a path as \040.
std::string without_octal_escapes(std::string_view text) {
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view code = text.substr(i, 4);
    if (code.size() == 4 && code[0] == '\\' && std::ranges::all_of(code.substr(1), is_octal)) {
      result += static_cast<char>((code[1] - '0') * 64 + (code[2] - '0') * 8 + (code[3] - '0'));
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

// Parses a positive integer, optionally followed by white space.
std::optional<uint64_t> positive_number(std::string_view text) {
  const size_t end = text.find_last_not_of(" \n");
  text = text.substr(0, end == std::string_view::npos ? 0 : end + 1);
  const auto number = parse_number<uint64_t>(text);
  return number == 0 ? std::nullopt : number;
}

std::optional<size_t> cpus(std::optional<uint64_t> quota, std::optional<uint64_t> period) {
  if (!quota || !period) return std::nullopt;
  return *quota / *period + (*quota % *period > 0 ? 1 : 0);
}

// Reads the CPU quota of the cgroup at `folder`.
std::optional<size_t> quota_v2(const std::string& folder) {
  const std::string text = read_text(folder + "/cpu.max", kMaxPathSize);  // "max 100000": no quota
  const auto parts = split(text, ' ');
  if (parts.size() != 2) return std::nullopt;
  return cpus(positive_number(parts[0]), positive_number(parts[1]));
}

std::optional<size_t> quota_v1(const std::string& folder) {
  const auto number = [&](const char* name) {
    return positive_number(read_text(folder + name, kMaxPathSize));  // -1: no quota
  };
  return cpus(number("/cpu.cfs_quota_us"), number("/cpu.cfs_period_us"));
}

// A cgroup hierarchy that has, or may have, the cpu controller.
struct Mount {
  bool is_v2 = false;
  std::string root;   // the cgroup that is mounted
  std::string point;  // the mount point
};

std::vector<Mount> cpu_mounts(const std::string& text) {
  std::vector<Mount> mounts;
  for (const std::string_view line : split(text, '\n')) {
    // ID PARENT DEVICE ROOT POINT OPTIONS [TAGS...] - TYPE SOURCE OPTIONS
    const auto fields = split(line, ' ');
    const auto dash = std::ranges::find(fields, "-");
    if (dash - fields.begin() < 6 || fields.end() - dash < 4) continue;
    const bool is_v2 = dash[1] == "cgroup2";
    if (!is_v2 && !(dash[1] == "cgroup" && contains(dash[3], "cpu"))) continue;
    mounts.push_back({is_v2, without_octal_escapes(fields[3]), without_octal_escapes(fields[4])});
  }
  return mounts;
}

// Finds the path of this process's cgroup in a line "0::PATH" or "NUMBER:CONTROLLERS:PATH".
std::optional<std::string> cgroup_path(const std::string& text, bool is_v2) {
  for (const std::string_view line : split(text, '\n')) {
    const size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (is_v2 ? controllers.empty() : contains(controllers, "cpu")) {
      return std::string(line.substr(second + 1));
    }
  }
  return std::nullopt;
}

// Converts the cgroup `path` to a path below the mount point. Empty (the mount point itself) for a
// cgroup outside the mounted subtree.
std::string below_mount(const Mount& mount, std::string path) {
  const std::string root = mount.root == "/" ? "" : mount.root;
  const bool inside =
      path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
  const auto parts = split(path, '/');
  if (!inside || path.size() > kMaxPathSize || std::ranges::find(parts, "..") != parts.end()) {
    return "";
  }
  path.erase(0, root.size());
  while (path.ends_with('/')) path.pop_back();
  return path;
}

// Returns SIZE_MAX if the affinity is unknown.
size_t cpus_of_affinity() {
  for (size_t most = 1024; most <= size_t{1} << 20; most *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
        CPU_ALLOC(most), [](cpu_set_t* cpu_set) { CPU_FREE(cpu_set); });
    if (!set) break;
    const size_t size = CPU_ALLOC_SIZE(most);
    CPU_ZERO_S(size, set.get());
    if (::sched_getaffinity(0, size, set.get()) == 0) {
      return static_cast<size_t>(CPU_COUNT_S(size, set.get()));
    }
    if (errno != EINVAL) break;  // EINVAL: the set is too small for this machine
  }
  return std::numeric_limits<size_t>::max();
}

}  // namespace

std::optional<size_t> cgroup_cpu_quota(const std::string& root) {
  const std::string cgroups = read_text(root + "/proc/self/cgroup", kMaxFileSize);
  std::optional<size_t> smallest;
  for (const Mount& mount : cpu_mounts(read_text(root + "/proc/self/mountinfo", kMaxFileSize))) {
    const auto path = cgroup_path(cgroups, mount.is_v2);
    if (!path) continue;
    std::string here = below_mount(mount, *path);
    while (true) {
      const std::string folder = root + mount.point + here;
      const auto quota = mount.is_v2 ? quota_v2(folder) : quota_v1(folder);
      if (quota) smallest = std::min(smallest.value_or(*quota), *quota);
      if (here.empty()) break;
      here.erase(here.rfind('/'));
    }
  }
  return smallest;
}

size_t available_cpus() {
  size_t cpus = cpus_of_affinity();
  // 0: unknown.
  if (const size_t hardware = std::thread::hardware_concurrency(); hardware > 0) {
    cpus = std::min(cpus, hardware);
  }
  if (cpus == std::numeric_limits<size_t>::max()) cpus = 1;
  return std::max<size_t>(1, std::min(cpus, cgroup_cpu_quota().value_or(cpus)));
}

}  // namespace recordpipe
