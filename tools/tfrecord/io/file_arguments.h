// The arguments that name a command's inputs: FILE..., --files-from, --recursive.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "recordpipe/record/input_files.h"
#include "tools/support/command_line/option.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

class CommandApp;

// Whether folders among the inputs stand for the record files in them.
enum class FolderInputs { record_files, kept };

class FileArguments {
 public:
  explicit FileArguments(FolderInputs folders = FolderInputs::record_files) : folders_(folders) {}

  // Adds the argument `name`, --files-from, --null, and --recursive unless folders are kept. This
  // object must live until the command line has been parsed.
  void add_to(CommandApp& app, const std::string& name, const std::string& description);

  // Returns the inputs one by one: first the files of each argument, in the given order, then those
  // of --files-from (input_files.h). They are found at the first call. Throws the errors of
  // find_input_files(), and UsageError if standard input is named twice, or if the list is empty.
  const std::vector<std::string>& paths(const CommandContext& context) const {
    return found(context).files;
  }
  // The same, with the folders that --recursive has read.
  const FilesAndFolders& found(const CommandContext& context) const;

 private:
  FilesAndFolders find(const CommandContext& context) const;

  FolderInputs folders_;
  std::vector<std::string> files_;
  std::string list_;
  bool null_separated_ = false;
  bool recursive_ = false;
  // Found once: the list may be a pipe. One of them is set then.
  mutable std::optional<FilesAndFolders> found_;
  mutable std::exception_ptr failure_;
};

// Adds --recursive.
Option add_recursive(CommandApp& app, bool& recursive);

// Returns the files of each argument; "-" is standard input. Throws the errors of
// find_input_files().
FilesAndFolders expand_inputs(const CommandContext& context, const std::vector<std::string>& given,
                              const InputFilesOptions& options);
// Prints left_out_note().
void note_left_out(const CommandContext& context, const FilesAndFolders& found);

}  // namespace recordpipe
