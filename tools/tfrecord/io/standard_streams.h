// Standard input and output, and named pipes and devices, as sources and sinks.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "recordpipe/file.h"

namespace recordpipe {

// A pipe may be silent for hours: a stop request ends the wait at once, with Error{cancelled}. The
// path() of standard input is "standard input".
std::unique_ptr<ByteSource> standard_input(std::stop_token stop);
// A FIFO, a terminal or another device. read() waits for a FIFO's writer.
std::unique_ptr<ByteSource> open_device_source(const std::string& path, std::stop_token stop);

// Sinks and print functions throw std::system_error{EPIPE}, not an Error, when the reader has
// closed the pipe: it needs no more output, and the program may end silently.
//
// Standard output. Its path() is "standard output"; close() leaves the descriptor open.
std::unique_ptr<ByteSink> standard_output();
// Writes to standard output without buffering: JSON and help unchanged; in lines of text, control
// characters and invalid UTF-8 in file names become \xNN.
void print(std::string_view text);
void print_line(std::string_view text);
// An existing FIFO or device; links are followed (/dev/fd/63, as bash's >(command) is named).
// Opening a FIFO waits for a reader, or for a stop request (Error{cancelled}).
std::unique_ptr<ByteSink> open_device_sink(const std::string& path, const std::stop_token& stop);

}  // namespace recordpipe
