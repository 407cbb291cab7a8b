#include <cerrno>
#include <exception>
#include <new>

#include <archive.h>
#include <archive_entry.h>

#include "recordpipe/error.h"
#include "recordpipe/toolkit/npz.h"

namespace recordpipe {

struct NpzWriter::State {
  explicit State(ByteSink& out) : sink(out), zip(archive_write_new()) {
    if (!zip) throw std::bad_alloc();
    archive_write_set_format_zip(zip);
    archive_write_zip_set_compression_store(zip);
    // Names that say that they are UTF-8.
    check(archive_write_set_options(zip, "hdrcharset=UTF-8"));
    // No padding behind the last block.
    archive_write_set_bytes_in_last_block(zip, 1);
    check(archive_write_open(zip, this, nullptr, write_block, nullptr));
  }
  // Freeing closes, and only closing frees all (so not archive_write_fail()): nothing may be
  // written any more.
  ~State() {
    over = true;
    archive_write_free(zip);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // An exception may not pass through C code.
  static la_ssize_t write_block(archive* a, void* state, const void* data, size_t size) {
    auto& self = *static_cast<State*>(state);
    if (self.over || self.failure) return -1;
    try {
      self.sink.write({static_cast<const std::byte*>(data), size});
      return static_cast<la_ssize_t>(size);
    } catch (...) {
      self.failure = std::current_exception();
      archive_set_error(a, EIO, "writing failed");
      return -1;
    }
  }

  void check(la_ssize_t result) {
    if (failure) std::rethrow_exception(failure);
    if (result >= ARCHIVE_WARN) return;
    const char* const reason = archive_error_string(zip);
    throw Error({.kind = ErrorKind::io,
                 .path = sink.path(),
                 .reason = reason ? reason : "the zip file can't be written"});
  }

  ByteSink& sink;
  archive* zip;
  std::exception_ptr failure = nullptr;
  bool over = false;
};

NpzWriter::NpzWriter(ByteSink& sink) : state_(std::make_unique<State>(sink)) {}
NpzWriter::~NpzWriter() = default;

void NpzWriter::begin(const std::string& name, uint64_t size) {
  const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(),
                                                                            &archive_entry_free);
  if (!entry) throw std::bad_alloc();
  archive_entry_set_pathname_utf8(entry.get(), (name + ".npy").c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0644);
  archive_entry_set_size(entry.get(), static_cast<int64_t>(size));
  state_->check(archive_write_header(state_->zip, entry.get()));
}

void NpzWriter::write(std::span<const std::byte> data) {
  while (!data.empty()) {
    const la_ssize_t count = archive_write_data(state_->zip, data.data(), data.size());
    state_->check(count);
    data = data.subspan(static_cast<size_t>(count));
  }
}

void NpzWriter::close() { state_->check(archive_write_close(state_->zip)); }

}  // namespace recordpipe
