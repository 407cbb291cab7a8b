// The inputs of operations on whole files: patterns, streams, files with random access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "recordpipe/compression.h"
#include "recordpipe/file.h"
#include "recordpipe/record_reader.h"

namespace recordpipe {

// The environment of an operation. The functions may be empty.
struct FileWork {
  FileSystem& files;
  // Soon after a stop request, the operation throws Error{cancelled}.
  std::stop_token stop = {};
  // Called with the number of bytes that were read since the last call, as they are stored in the
  // files. Must be thread-safe: decompression reads on its own thread.
  std::function<void(uint64_t bytes)> advance = {};
  // Called before each pass over the inputs with its name: "count", "convert", ...
  std::function<void(const char* activity)> begin_pass = {};
  // Whether a path names a stream and no file or URL: standard input, a device. open_stream() opens
  // it; it is not empty if is_stream() is not.
  std::function<bool(const std::string& path)> is_stream = {};
  std::function<std::unique_ptr<ByteSource>(const std::string& path)> open_stream = {};

  void begin(const char* activity) const {
    if (begin_pass) begin_pass(activity);
  }
  void add(uint64_t bytes) const {
    if (advance) advance(bytes);
  }
};

// Returns the inputs one by one, in the given order. Replaces each pattern by the matching paths,
// sorted; leaves out an index FILE.idx if FILE matches as well. Throws Error{not_found} for a
// pattern without a match.
std::vector<std::string> expand_patterns(FileSystem& files, const std::vector<std::string>& given);

// Wraps `source`: calls `after` with the bytes of each read.
std::unique_ptr<ByteSource> tapped(std::unique_ptr<ByteSource> source,
                                   std::function<void(std::span<const std::byte>)> after);

// Opens any input as a stream, without work.advance(). After a stop request, reads throw
// Error{cancelled}.
std::unique_ptr<ByteSource> open_uncounted(const FileWork& work, const std::string& path);
// The same with work.advance(), which must stay callable as long as the source is read.
std::unique_ptr<ByteSource> open_counted(const FileWork& work, const std::string& path);

// Opens a regular file, or a URL whose server supports ranges. Returns null if the input can only
// be read as a stream.
std::unique_ptr<RandomAccessFile> open_random_input(const FileWork& work, const std::string& path);

// Whether the input is a local regular file that is not compressed.
bool can_be_mapped(const FileWork& work, const std::string& path, const RecordReadOptions& reading);

// Returns the given compression, or else detects it from the first bytes.
Compression compression_of(const RandomAccessFile& file, const RecordReadOptions& reading);

// Whether a regular file PATH.idx exists and matches `file`; checks only a few headers.
bool index_fits(FileSystem& files, const std::string& path, const RandomAccessFile& file);

}  // namespace recordpipe
