// Works on many files at a time, with results in the order of the files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataset/base/available_cpus.h"
#include "dataset/parallel/in_order.h"
#include "dataset/toolkit/files/file_work.h"

namespace recordpipe {

// How a file of several is worked on.
struct FileTurn {
  InputStatus status = {};
  // By all threads: the file keeps them busy.
  bool is_alone = false;
  // By the thread that works on its neighbours: handing it to another one would take as long as the
  // work on it.
  bool is_small = false;
};

// The turn of a file whose content is read. Large plain local files, which are scanned in pieces,
// are alone. Streams, which may be the same terminal or pipe, are alone, too.
FileTurn turn_of_content(const FileWork& work, const std::string& path);
// The turn of a file of which little is read.
FileTurn turn_of_headers(const FileWork& work, const std::string& path);

// A file of several, and the number of threads that may work on it.
struct FileShare {
  size_t number = 0;  // of the path, from 0
  size_t threads = 1;
  FileTurn turn = {};
};

// Limits on the small files that one thread works on in a row.
inline constexpr size_t kMaxFilesInGroup = 32;
inline constexpr uint64_t kMaxBytesInGroup = uint64_t{1} << 20;

namespace internal {

template <typename Result>
struct GroupResult {
  std::vector<Result> results = {};
  std::exception_ptr failure = nullptr;  // of the file behind the results
};

// As many files as leave each thread several groups.
inline size_t max_files_in_group(size_t count, size_t threads) {
  return std::clamp<size_t>(count / (8 * threads), 1, kMaxFilesInGroup);
}

}  // namespace internal

// The threads that work on one file each: `threads`, or more, which wait, if all files are read
// ahead over the network (except with one thread).
parallel::InOrderOptions files_at_once(FileSystem& files, const std::vector<std::string>& paths,
                                       size_t threads);

// Returns the results of work(share) for `count` files by calling consume() on the calling thread,
// in the order of the files, until it returns false. turn_of() is called once for each file, on the
// calling thread. Files that work alone are worked on by the calling thread, with `threads`
// threads; up to `at_once` (default: `threads`) other files, or groups of small files, at a time by
// one thread each, or by more if there are fewer files than threads. At most 2 * at_once + 1
// results, or groups of results, are held at a time. The first exception, in the order of the
// files, is thrown after all running work has ended.
template <typename Result>
void for_each_file(size_t count, size_t threads, const std::function<FileTurn(size_t)>& turn_of,
                   const std::function<Result(FileShare)>& work,
                   const std::function<bool(Result)>& consume,
                   std::optional<parallel::InOrderOptions> at_once = {}) {
  if (!at_once) at_once = {.threads = threads};
  at_once->threads = std::min(at_once->threads, count);
  using Group = std::vector<FileShare>;
  using Done = internal::GroupResult<Result>;
  const size_t threads_each = std::max<size_t>(1, threads / std::max<size_t>(1, count));
  const size_t max_in_group = internal::max_files_in_group(count, threads);
  size_t number = 0;
  std::optional<FileTurn> turn;  // of the file `number`
  bool more = true;
  const auto has_next = [&] {
    if (!more || number == count) return false;
    if (!turn) turn = turn_of(number);
    return true;
  };
  const auto take = [&](size_t threads_of_file) {
    return FileShare{number++, threads_of_file, *std::exchange(turn, std::nullopt)};
  };
  const std::function<std::optional<Group>()> next_group = [&]() -> std::optional<Group> {
    Group group;
    uint64_t bytes = 0;
    while (group.size() < max_in_group && bytes < kMaxBytesInGroup && has_next() &&
           !turn->is_alone && (group.empty() || turn->is_small)) {
      bytes += turn->is_small ? turn->status.size : kMaxBytesInGroup;
      group.push_back(take(threads_each));
    }
    return group.empty() ? std::nullopt : std::optional(std::move(group));
  };
  const std::function<Done(Group)> work_on_group = [&](const Group& group) {
    Done done;
    try {
      for (const FileShare& share : group) done.results.push_back(work(share));
    } catch (...) {
      done.failure = std::current_exception();
    }
    return done;
  };
  const std::function<void(Done)> consume_group = [&](Done done) {
    for (auto&& result : done.results) {
      if (more) more = consume(std::move(result));
    }
    if (done.failure) std::rethrow_exception(std::exchange(done.failure, nullptr));
  };
  while (has_next()) {
    if (count == 1 || at_once->threads == 1 || turn->is_alone) {
      more = consume(work(take(threads)));
    } else {
      parallel::in_order<Group, Done>(*at_once, next_group, work_on_group, consume_group);
    }
  }
}

// turn_of_content() or turn_of_headers().
using TurnOf = FileTurn(const FileWork& work, const std::string& path);

// The same for all `paths`, which are read as files_at_once() says. 0 threads: available_cpus().
template <typename Result>
void for_each_file(const FileWork& files, const std::vector<std::string>& paths, size_t threads,
                   TurnOf* turn_of, const std::function<Result(FileShare)>& work,
                   const std::function<bool(Result)>& consume) {
  threads = thread_count(threads);
  for_each_file<Result>(
      paths.size(), threads, [&](size_t number) { return turn_of(files, paths[number]); }, work,
      consume, files_at_once(files.files, paths, threads));
}

// Returns all results.
template <typename Result>
std::vector<Result> results_of_files(const FileWork& files, const std::vector<std::string>& paths,
                                     size_t threads, TurnOf* turn_of,
                                     const std::function<Result(FileShare)>& work) {
  std::vector<Result> results;
  for_each_file<Result>(files, paths, threads, turn_of, work, [&](Result result) {
    results.push_back(std::move(result));
    return true;
  });
  return results;
}

}  // namespace recordpipe
