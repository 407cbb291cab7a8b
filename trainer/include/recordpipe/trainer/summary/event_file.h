// A file that TensorBoard reads: FOLDER/events.out.tfevents.SECONDS.HOST.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "recordpipe/file.h"
#include "recordpipe/record_writer.h"

namespace recordpipe {

// A log: each record is in the file when write() returns, where TensorBoard can see it, and nobody
// else appends to it. What is killed in the middle leaves whole records, and after them perhaps a
// piece of one, which readers pass over. Only sync() makes records survive a power loss.
class EventFile {
 public:
  // Makes the folder and in it a new file, which begins with the version's record. SECONDS are
  // `wall_time`, or more where the folder holds event files of that time or a later one:
  // TensorBoard reads a folder's files in the order of their names. Where that fails, no file is
  // left.
  EventFile(FileSystem& file_system, const std::string& folder, double wall_time,
            const std::string& host);

  void write(std::string_view event);  // as encode_event() made it
  void sync();
  const std::string& path() const { return file_->path(); }

 private:
  std::unique_ptr<OutputFile> file_;
  std::unique_ptr<RecordWriter> records_;
};

// This machine's name, "localhost" where it has none.
std::string host_name();

}  // namespace recordpipe
