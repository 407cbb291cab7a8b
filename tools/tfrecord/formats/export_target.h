// Writes the records of `export` in other formats, with one class per format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataset/example/event_view.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/toolkit/feature_edit.h"
#include "recordpipe/toolkit/pixel_guess.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/command_line/options.h"

namespace recordpipe {

struct ExportedRecord {
  uint64_t number = 0;                   // index among the exported records, from 0
  std::span<const std::byte> data = {};  // the unchanged record
  const MessageView& message;            // with only the requested features
};

class ExportTarget {
 public:
  virtual ~ExportTarget() = default;
  // Whether look() must see all records before the first record is written.
  virtual bool looks_first() const { return false; }
  virtual void look(const ExportedRecord& /*record*/) {}
  // Ends the pass of look(). Throws if the records can't be written together. `selected`: the
  // features of --select if other records than those of the pass may have them.
  virtual void end_look(const FeatureNames& /*selected*/) {}
  // Throws Error{corrupted} for a record whose image is there, but is none: --skip-corrupt skips
  // it.
  virtual void write(const ExportedRecord& record) = 0;
  // Completes the output, which then appears.
  virtual void close() = 0;
  // What the user should know, though it succeeds. `looked_at_all`: write() has got all records.
  virtual std::string note(bool /*looked_at_all*/) const { return {}; }
  // The number of rows, if a record has not exactly one.
  virtual std::optional<uint64_t> rows() const { return {}; }
  // The files that were written, if -o does not name the only one.
  virtual std::vector<std::string> files() const { return {}; }
};

// Throws Error{unsupported} if the record is not an Example.
void require_example(const ExportedRecord& record, const std::string& hint = "");

struct TargetOptions {
  std::string output = {};
  std::string image = {};  // names of the features; default: the usual names
  std::string label = {};
  std::string name =
      {};  // of the feature that names an image's file, or a sample; default: its number
  std::string labels = {};  // a file with a line for each label, its name, from label 0 on
  // Describes raw pixels. By default, image folders guess the shape and layout, and .npz files use
  // none; with only a shape, .npz files assume interleaved pixels.
  PixelOptions pixels = {};
  char delimiter = ',';     // .csv: between cells
  EventFilter events = {};  // of scalars
  // Image folders: a file whose header can't be read is no image.
  bool checks_images = false;
  std::string temporary_directory = {};  // .npz: for the arrays until close()
  // WebDataset: a new archive is begun before one of these limits would be exceeded; 0: no limit,
  // and without limits there is one archive, `output`.
  uint64_t archive_bytes = 0;  // of the archive
  uint64_t archive_records = 0;
  NamePairs members = {};  // features by the extensions of members

  bool many_archives() const { return archive_bytes > 0 || archive_records > 0; }
};

// Returns the files that the result replaces: the output, or the existing archives that have names
// as the new ones.
std::vector<std::string> replaced_by_export(FileSystem& files, const TargetOptions& options);

std::unique_ptr<ExportTarget> json_target(const CommandContext& context,
                                          const TargetOptions& options);
std::unique_ptr<ExportTarget> csv_target(const CommandContext& context,
                                         const TargetOptions& options);
std::unique_ptr<ExportTarget> scalars_target(const CommandContext& context,
                                             const TargetOptions& options);
std::unique_ptr<ExportTarget> npz_target(const CommandContext& context,
                                         const TargetOptions& options);
std::unique_ptr<ExportTarget> image_folder_target(const CommandContext& context,
                                                  const TargetOptions& options);
std::unique_ptr<ExportTarget> webdataset_target(const CommandContext& context,
                                                const TargetOptions& options);

}  // namespace recordpipe
