// Opens standard input and output, named pipes and devices as sources and sinks.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "recordpipe/io/file.h"

namespace recordpipe {

// A pipe may be silent for hours: a stop request ends the wait immediately, with Error{cancelled}.
// The path() of standard input is "standard input".
std::unique_ptr<ByteSource> standard_input(std::stop_token stop);
// Opens a FIFO, a terminal or another device. read() waits for a FIFO's writer.
std::unique_ptr<ByteSource> open_device_source(const std::string& path, std::stop_token stop);

// Sinks and print functions throw std::system_error{EPIPE}, not an Error, when the reader has
// closed the pipe: the reader needs no more output, so the program may end silently.
//
// Writes to standard output. Its path() is "standard output"; close() leaves the descriptor open.
std::unique_ptr<ByteSink> standard_output();
// Both print to standard output without buffering. print() writes JSON and help unchanged.
// print_line() appends a newline; control characters and invalid UTF-8 (in file names) become \xNN.
void print(std::string_view text);
void print_line(std::string_view text);
// Opens an existing FIFO or device. Follows links, for example /dev/fd/63, the name that bash gives
// to >(command). Opening a FIFO waits for a reader, or for a stop request (Error{cancelled}).
std::unique_ptr<ByteSink> open_device_sink(const std::string& path, const std::stop_token& stop);

}  // namespace recordpipe
