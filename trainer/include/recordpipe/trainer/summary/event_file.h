// A file that TensorBoard reads: FOLDER/events.out.tfevents.SECONDS.HOST.PROCESS.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "recordpipe/io/file.h"
#include "recordpipe/record/record_writer.h"

namespace recordpipe {

// A log. When write() returns, the record is in the file and visible to TensorBoard. No other
// process appends to the file. A killed process leaves whole records and possibly a partial one,
// which readers skip. Only sync() makes records survive a power loss.
class EventFile {
 public:
  // Makes the folder and a new file in it that begins with the version record. SECONDS is
  // `wall_time`, or larger if the folder has event files of that time or later: TensorBoard reads
  // files in the order of their names. PROCESS is the process id: two processes of a machine that
  // start in the same second have two files. On failure no file is left.
  EventFile(FileSystem& file_system, const std::string& folder, double wall_time,
            const std::string& host);

  void write(std::string_view event);  // as encode_event() made it
  void sync();
  const std::string& path() const { return file_->path(); }

 private:
  std::unique_ptr<OutputFile> file_;
  std::unique_ptr<RecordWriter> records_;
};

// Whether a file of this name is an event file, of any program.
bool is_event_file_name(std::string_view name);

// This machine's host name; "localhost" if it has none.
std::string host_name();

}  // namespace recordpipe
