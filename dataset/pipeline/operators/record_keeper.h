// How tfrecord_files keeps records that are not in a mapped file.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "recordpipe/record.h"

namespace recordpipe::internal {

// A copy of `record` in memory of its own, with `path` as its path. Small records share no memory:
// those that stay long in a shuffle would keep the others' part of it, several times their own.
// What goes in and out of a ValueStore is freed by the thread that copies, so it takes no lock.
inline Record keep_record(const Record& record, std::string_view path) {
  const size_t size = record.data.size();
  auto own = std::make_shared_for_overwrite<std::byte[]>(size + path.size());
  if (size > 0) std::memcpy(own.get(), record.data.data(), size);
  std::byte* const own_path = own.get() + size;
  std::memcpy(own_path, path.data(), path.size());
  const std::span<const std::byte> data(own.get(), size);
  return {
      data, record.offset, {reinterpret_cast<const char*>(own_path), path.size()}, std::move(own)};
}

}  // namespace recordpipe::internal
