// What `export` writes: one class for each format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/message_view.h"
#include "recordpipe/toolkit/pixel_guess.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

struct ExportedRecord {
  uint64_t number = 0;                   // among those that are exported, from 0
  std::span<const std::byte> data = {};  // as it was read
  const MessageView& message;            // of the features that are wanted
};

class ExportTarget {
 public:
  virtual ~ExportTarget() = default;
  // Whether all records are to be looked at before the first is written.
  virtual bool looks_first() const { return false; }
  virtual void look(const ExportedRecord& /*record*/) {}
  // All were looked at. Throws where together they can't be written.
  virtual void end_look() {}
  virtual void write(const ExportedRecord& record) = 0;
  // What was written appears.
  virtual void close() = 0;
};

// Throws Error{unsupported} for what is no Example.
void require_example(const ExportedRecord& record, const std::string& hint = "");

struct TargetOptions {
  std::string output = {};
  std::string image = {};  // the features' names; left out, the usual ones
  std::string label = {};
  // Of raw pixels. Left out, images are guessed; in .npz files they have no shape, and with one are
  // taken for interleaved.
  PixelOptions pixels = {};
  std::string temporary_directory = {};  // .npz: where arrays wait
};

std::unique_ptr<ExportTarget> json_target(const CommandContext& context,
                                          const TargetOptions& options);
std::unique_ptr<ExportTarget> csv_target(const CommandContext& context,
                                         const TargetOptions& options);
std::unique_ptr<ExportTarget> npz_target(const CommandContext& context,
                                         const TargetOptions& options);
std::unique_ptr<ExportTarget> image_folder_target(const CommandContext& context,
                                                  const TargetOptions& options);

}  // namespace recordpipe
