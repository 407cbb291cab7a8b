// Compresses gzip members with ISA-L. Portable counterpart: deflate_block.cc.
#include "dataset/io/compression/deflate_block.h"

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

// ISA-L's main loop enters the third byte of a stream into its hash table with the hash of the
// address of the stream instead of the byte's (".write_first_byte" in igzip_icf_body_h1_gr_bt.asm,
// versions 2.30 to 2.32): about one in 8,192 members would differ from run to run. The code that
// ends a block has no such error, so the first bytes make a block of their own. Four are the fewest
// that it enters as history.
constexpr size_t kFirstBlock = 4;
constexpr size_t kSyncFlush = 32;  // at most: the block and the marker that ends it

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
  // ISA-L does not write to its input, but the pointer is not const.
  stream->next_in = const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(content.data()));
  std::string out(stored_size(content.size()) + kHeaderAndTrailer + kSyncFlush, '\0');
  size_t made = 0;
  const auto deflate = [&](size_t size) {
    if (made == out.size()) out.resize(out.size() + out.size() / 2);
    stream->avail_in += static_cast<uint32_t>(size);
    stream->next_out = reinterpret_cast<uint8_t*>(out.data()) + made;
    stream->avail_out = static_cast<uint32_t>(out.size() - made);
    if (isal_deflate(stream.get()) != COMP_OK) throw std::runtime_error("ISA-L failed");
    made = out.size() - stream->avail_out;
  };
  const size_t first = content.size() > kFirstBlock ? kFirstBlock : 0;
  if (first > 0) {
    stream->flush = SYNC_FLUSH;
    deflate(first);
    stream->flush = NO_FLUSH;
  }
  stream->end_of_stream = 1;
  deflate(content.size() - first);
  while (stream->internal_state.state != ZSTATE_END) deflate(0);
  out.resize(made);
  return out;
}

}  // namespace recordpipe

#else

namespace recordpipe {

std::optional<std::string> isal_gzip_member(std::span<const std::byte>) { return std::nullopt; }

}  // namespace recordpipe

#endif
