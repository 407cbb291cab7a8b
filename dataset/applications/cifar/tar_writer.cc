#include "dataset/applications/cifar/tar_writer.h"

#include <cerrno>
#include <exception>
#include <new>

#include <archive.h>
#include <archive_entry.h>

#include "recordpipe/error.h"

namespace recordpipe {
namespace {

constexpr time_t kModified = 1244144640;  // June 2009, when the published archives were packed

struct FreeArchive {
  void operator()(archive* a) const { archive_write_free(a); }
};

struct FreeEntry {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};

}  // namespace

struct TarWriter::State {
  explicit State(ByteSink& out) : sink(out), handle(archive_write_new()) {
    if (!handle) throw std::bad_alloc();
    check(archive_write_set_format_ustar(handle.get()));
    check(archive_write_set_bytes_per_block(handle.get(), 0));  // unbuffered
    check(archive_write_open(handle.get(), this, nullptr, take_bytes, nullptr));
  }

  // Freeing an abandoned archive would write its end. (archive_write_fail would prevent that, too,
  // but leaks libarchive's buffers.)
  ~State() { dropping = true; }

  // Exceptions must not propagate through libarchive's C code.
  static la_ssize_t take_bytes(archive* a, void* state, const void* bytes, size_t size) {
    auto& self = *static_cast<State*>(state);
    if (self.dropping) return static_cast<la_ssize_t>(size);
    try {
      self.sink.write({static_cast<const std::byte*>(bytes), size});
      return static_cast<la_ssize_t>(size);
    } catch (...) {
      self.failure = std::current_exception();
      archive_set_error(a, EIO, "writing failed");
      return ARCHIVE_FATAL;
    }
  }

  void check(la_ssize_t result) {
    if (failure) std::rethrow_exception(failure);
    if (result >= ARCHIVE_OK) return;
    const char* text = archive_error_string(handle.get());
    throw Error({.kind = ErrorKind::io,
                 .path = sink.path(),
                 .reason = std::string("packing failed: ") + (text ? text : "no reason given")});
  }

  void add(const std::string& path, unsigned type, mode_t mode,
           std::span<const std::byte> content) {
    const std::unique_ptr<archive_entry, FreeEntry> entry(archive_entry_new());
    if (!entry) throw std::bad_alloc();
    archive_entry_set_pathname(entry.get(), path.c_str());
    archive_entry_set_filetype(entry.get(), type);
    archive_entry_set_perm(entry.get(), mode);
    archive_entry_set_mtime(entry.get(), kModified, 0);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(content.size()));
    check(archive_write_header(handle.get(), entry.get()));
    if (!content.empty()) check(archive_write_data(handle.get(), content.data(), content.size()));
  }

  ByteSink& sink;
  bool dropping = false;
  std::unique_ptr<archive, FreeArchive> handle;
  std::exception_ptr failure;
};

TarWriter::TarWriter(ByteSink& sink) : state_(std::make_unique<State>(sink)) {}

TarWriter::~TarWriter() = default;

void TarWriter::add_folder(const std::string& path) { state_->add(path, AE_IFDIR, 0755, {}); }

void TarWriter::add_file(const std::string& path, std::span<const std::byte> content) {
  state_->add(path, AE_IFREG, 0644, content);
}

void TarWriter::close() { state_->check(archive_write_close(state_->handle.get())); }

}  // namespace recordpipe
