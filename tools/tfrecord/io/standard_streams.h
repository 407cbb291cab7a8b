// Standard input and output, and pipes and devices that have names, as sources and sinks.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "recordpipe/file.h"

namespace recordpipe {

// A pipe may stay silent for hours: a stop ends the wait for it at once, with Error{cancelled}. The
// path() of standard input is "standard input".
std::unique_ptr<ByteSource> standard_input(std::stop_token stop);
// A FIFO, a terminal or another device. That a FIFO gets a writer is waited for in read().
std::unique_ptr<ByteSource> open_device_source(const std::string& path, std::stop_token stop);

// These throw std::system_error{EPIPE}, no Error, once nobody reads them any more: what was written
// is all that was wanted, and the program may end without a word.
//
// Its path() is "standard output". close() leaves the descriptor open.
std::unique_ptr<ByteSink> standard_output();
// Writes to standard output at once: JSON and help as they are; a line for people with what is no
// text in the names of files, control characters above all, written \xNN.
void print(std::string_view text);
void print_line(std::string_view text);
// A FIFO or a device that is there; links are followed (/dev/fd/63, as bash's >(command) is named).
// Opening a FIFO waits until somebody reads it, or for a stop (Error{cancelled}).
std::unique_ptr<ByteSink> open_device_sink(const std::string& path, const std::stop_token& stop);

}  // namespace recordpipe
