#include "recordpipe/cifar/source_note.h"

#include <array>
#include <memory>
#include <span>
#include <string_view>

#include "recordpipe/atomic_file.h"
#include "recordpipe/error.h"

namespace recordpipe {
namespace {

constexpr size_t kMaxSize = 8192;  // the file is untrusted input

std::string note_in(const std::string& data_dir) { return data_dir + "/source.txt"; }

}  // namespace

void note_source(FileSystem& file_system, const std::string& data_dir, const std::string& archive,
                 const std::string& sha256) {
  const std::string text = archive + (sha256.empty() ? "" : " (SHA-256 " + sha256 + ")") + "\n";
  AtomicFile file(file_system, note_in(data_dir));
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

std::string noted_source(FileSystem& file_system, const std::string& data_dir) {
  const std::string path = note_in(data_dir);
  const auto status = file_system.status(path);
  if (!status || status->kind != FileKind::regular) return {};
  std::array<char, kMaxSize> text;
  const std::unique_ptr<ByteSource> file = file_system.open_source(path);
  const size_t size = read_fully(*file, std::as_writable_bytes(std::span(text)));
  std::string_view note(text.data(), size);
  if (note.ends_with('\n')) note.remove_suffix(1);
  return printable(note);
}

void remove_source_note(FileSystem& file_system, const std::string& data_dir) {
  const std::string path = note_in(data_dir);
  if (!file_system.status(path)) return;
  file_system.remove(path);
  file_system.sync_directory(data_dir);
}

}  // namespace recordpipe
