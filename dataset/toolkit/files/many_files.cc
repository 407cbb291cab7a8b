#include "dataset/toolkit/files/many_files.h"

#include "recordpipe/base/error.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe {
namespace {

// From about this size on, ParallelRecordScanner is as fast with several threads on one file as
// with one thread on each of several files.
constexpr uint64_t kLarge = uint64_t{32} << 20;

constexpr size_t kObjectsAtOnce = 32;

bool is_plain(const FileWork& work, const std::string& path) {
  try {
    return detect_compression(work.files, path, {}) == Compression::none;
  } catch (const Error&) {
    return false;  // opening the file will report it
  }
}

}  // namespace

parallel::InOrderOptions files_at_once(FileSystem& files, const std::vector<std::string>& paths,
                                       size_t threads) {
  const auto is_distant = [&](const std::string& path) { return files.reads_ahead(path); };
  if (threads == 1 || !std::ranges::all_of(paths, is_distant)) return {.threads = threads};
  return {.threads = std::max(threads, kObjectsAtOnce), .kind = parallel::CrewKind::waits};
}

FileTurn turn_of_content(const FileWork& work, const std::string& path) {
  FileTurn turn = turn_of_headers(work, path);
  if (turn.status.is_local_regular && turn.status.size >= kLarge) {
    turn.is_alone = is_plain(work, path);
  }
  return turn;
}

FileTurn turn_of_headers(const FileWork& work, const std::string& path) {
  const InputStatus status = input_status(work, path);
  return {.status = status,
          .is_alone = status.is_stream,
          .is_small = status.is_local_regular && status.size < kMaxBytesInGroup};
}

}  // namespace recordpipe
