// Compresses gzip members with ISA-L. Portable counterpart: deflate_block.cc.
#include "dataset/io/deflate_block.h"

#if RECORDPIPE_ISAL

#include <memory>
#include <stdexcept>
#include <vector>

#include <isa-l/igzip_lib.h>

namespace recordpipe {
namespace {

constexpr size_t kHeaderAndTrailer = 10 + 8;
// A stored block has a header of 5 bytes and at most 65535 bytes of content. Allows for two more
// blocks at the ends.
constexpr size_t stored_size(size_t size) { return size + 5 * (size / 65535 + 2); }

}  // namespace

std::optional<std::string> isal_gzip_member(std::span<const std::byte> content) {
  const auto stream = std::make_unique<isal_zstream>();  // tens of kilobytes
  std::vector<uint8_t> level_buffer(ISAL_DEF_LVL1_DEFAULT);
  isal_deflate_init(stream.get());
  // The output of level 0 may exceed the size of stored blocks. Levels 2 and 3 compress only a
  // little better than level 1.
  stream->level = 1;
  stream->level_buf = level_buffer.data();
  stream->level_buf_size = static_cast<uint32_t>(level_buffer.size());
  stream->gzip_flag = IGZIP_GZIP;
  stream->end_of_stream = 1;
  // ISA-L does not write to its input, but the pointer is not const.
  stream->next_in = const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(content.data()));
  stream->avail_in = static_cast<uint32_t>(content.size());
  std::string out(stored_size(content.size()) + kHeaderAndTrailer, '\0');
  size_t made = 0;
  do {
    if (made == out.size()) out.resize(out.size() + out.size() / 2);
    stream->next_out = reinterpret_cast<uint8_t*>(out.data()) + made;
    stream->avail_out = static_cast<uint32_t>(out.size() - made);
    if (isal_deflate(stream.get()) != COMP_OK) throw std::runtime_error("ISA-L failed");
    made = out.size() - stream->avail_out;
  } while (stream->internal_state.state != ZSTATE_END);
  out.resize(made);
  return out;
}

}  // namespace recordpipe

#else

namespace recordpipe {

std::optional<std::string> isal_gzip_member(std::span<const std::byte>) { return std::nullopt; }

}  // namespace recordpipe

#endif
