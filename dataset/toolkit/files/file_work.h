// The inputs of operations on whole files: streams, files with random access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "recordpipe/io/compression.h"
#include "recordpipe/io/file.h"
#include "recordpipe/record/record_reader.h"

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
  // Opens standard input, whose path is "-", a FIFO or another device. If it is empty, "-" is the
  // name of a file, and `files` opens devices.
  std::function<std::unique_ptr<ByteSource>(const std::string& path)> open_stream = {};
  // Called on the thread of the operation with what the user should know, though it succeeds.
  std::function<void(const std::string& what)> tell = {};

  void begin(const char* activity) const {
    if (begin_pass) begin_pass(activity);
  }
  // Does nothing if `what` is empty.
  void note(const std::string& what) const {
    if (tell && !what.empty()) tell(what);
  }
  void add(uint64_t bytes) const {
    if (advance) advance(bytes);
  }
};

// What an input is before it is opened. Found out once for each input and handed on: a status takes
// a system call, and there may be thousands of small files.
struct InputStatus {
  bool is_stream = false;         // work.open_stream() opens it
  bool is_local_regular = false;  // of a path that can be mapped: no URL
  uint64_t size = 0;              // of a local regular file
};

// Takes at most one request, and none for a URL. All members are false if the status can't be
// found: opening the path reports why.
InputStatus input_status(const FileWork& work, const std::string& path);

// In the functions below, `status` is the result of input_status(), if the caller has it already.

// Wraps `source`: calls `after` with the bytes of each read.
std::unique_ptr<ByteSource> tapped(std::unique_ptr<ByteSource> source,
                                   std::function<void(std::span<const std::byte>)> after);

// Opens any input as a stream, without work.advance(). After a stop request, reads throw
// Error{cancelled}.
std::unique_ptr<ByteSource> open_uncounted(const FileWork& work, const std::string& path,
                                           const std::optional<InputStatus>& status = {});
// The same with work.advance(), which must stay callable as long as the source is read.
std::unique_ptr<ByteSource> open_counted(const FileWork& work, const std::string& path,
                                         const std::optional<InputStatus>& status = {});

// Opens a regular file, or a URL whose server supports ranges. Returns null if the input can only
// be read as a stream.
std::unique_ptr<RandomAccessFile> open_random_input(const FileWork& work, const std::string& path,
                                                    const std::optional<InputStatus>& status = {});

// Returns the number of records of `file` if a regular file PATH.idx exists and matches it; checks
// only a few headers.
std::optional<uint64_t> count_by_index(FileSystem& files, const std::string& path,
                                       const RandomAccessFile& file);

}  // namespace recordpipe
