#include "recordpipe/record/record_writer.h"

#include <array>
#include <utility>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/endian.h"
#include "recordpipe/checksum/crc32c.h"
#include "recordpipe/record/record_format.h"

namespace recordpipe {
namespace {

// The size of the write buffer for files.
constexpr size_t kWriteBufferSize = size_t{256} << 10;

void append_bytes(std::span<const std::byte> data, std::string& out) {
  out.append(reinterpret_cast<const char*>(data.data()), data.size());
}

}  // namespace

void append_framed(std::span<const std::byte> data, std::string& out) {
  append_bytes(encode_record_header(data.size()), out);
  append_bytes(data, out);
  append_bytes(encode_record_footer(data), out);
}

struct RecordWriter::State {
  std::unique_ptr<AtomicFile> file;      // if constructed with a path
  ByteSink* sink = nullptr;              // the output: `file` or the caller's sink
  std::unique_ptr<ByteSink> compressor;  // writes to `sink`
  const size_t buffer_size;
  std::string buffer = {};
  uint64_t records = 0;
  uint64_t bytes = 0;
  bool open = true;
  bool finished = false;

  State(ByteSink& out, const RecordWriteOptions& options, size_t buffered)
      : sink(&out), buffer_size(buffered) {
    if (options.compression != Compression::none) {
      compressor = deflate(out, {options.compression, options.compression_level});
    }
  }

  ByteSink& next() { return compressor ? *compressor : *sink; }

  void flush() {
    if (buffer.empty()) return;
    next().write(std::as_bytes(std::span(buffer)));
    buffer.clear();
  }

  // Without a buffer, a record is collected for one write.
  void append(std::span<const std::byte> data) {
    if (buffer_size > 0 && buffer.size() + data.size() > buffer_size) flush();
    if (buffer_size > 0 && data.size() > buffer_size) {
      next().write(data);
    } else {
      append_bytes(data, buffer);
    }
  }

  // Runs `action`. Nothing may be written after a failure; otherwise the file would have a gap.
  template <typename Action>
  void guarded(Action action) {
    if (!open) {
      throw Error({.kind = ErrorKind::invalid_argument,
                   .path = sink->path(),
                   .reason = "records written after close() or after a failed write"});
    }
    open = false;
    action();
    open = true;
  }
};

RecordWriter::RecordWriter(FileSystem& file_system, const std::string& path,
                           RecordWriteOptions options) {
  auto file = std::make_unique<AtomicFile>(file_system, path);
  state_ = std::make_unique<State>(*file, options, kWriteBufferSize);
  state_->file = std::move(file);
}

RecordWriter::RecordWriter(ByteSink& sink, RecordWriteOptions options)
    : state_(std::make_unique<State>(sink, options, options.buffer_size)) {}

RecordWriter::~RecordWriter() = default;
RecordWriter::RecordWriter(RecordWriter&&) noexcept = default;
RecordWriter& RecordWriter::operator=(RecordWriter&&) noexcept = default;

void RecordWriter::write(std::span<const std::byte> data) { write_pieces(std::span(&data, 1)); }

void RecordWriter::write_pieces(std::span<const std::span<const std::byte>> pieces) {
  size_t size = 0;
  for (const auto& piece : pieces) size += piece.size();
  state_->guarded([&] {
    state_->append(encode_record_header(size));
    uint32_t crc = 0;
    for (const auto& piece : pieces) {
      crc = crc32c_extend(crc, piece);
      state_->append(piece);
    }
    std::array<std::byte, kRecordFooterSize> footer;
    store_little_endian(mask_crc(crc), footer.data());
    state_->append(footer);
    state_->records += 1;
    state_->bytes += size + kRecordOverhead;
    if (state_->buffer_size == 0) state_->flush();
  });
}

void RecordWriter::write_framed(std::span<const std::byte> framed, uint64_t count) {
  state_->guarded([&] {
    state_->records += count;
    state_->bytes += framed.size();
    state_->flush();
    state_->next().write(framed);
  });
}

void RecordWriter::finish() {
  state_->guarded([&] {
    state_->flush();
    if (state_->compressor) state_->compressor->close();
    if (state_->file) state_->file->finish();
  });
  state_->open = false;
  state_->finished = true;
}

void RecordWriter::close() {
  if (!state_->finished) finish();
  state_->finished = false;
  if (state_->file) state_->file->commit();
}

uint64_t RecordWriter::records() const { return state_->records; }
uint64_t RecordWriter::bytes() const { return state_->bytes; }

}  // namespace recordpipe
