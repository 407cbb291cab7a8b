#include "tools/tfrecord/io/file_arguments.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "recordpipe/base/error.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/io/inputs.h"

namespace recordpipe {
namespace {

constexpr size_t kLongestList = size_t{256} << 20;

// Returns the paths in a list. A file named "-" is not standard input.
std::vector<std::string> paths_in(std::string_view list, char separator) {
  std::vector<std::string> paths;
  while (!list.empty()) {
    const size_t end = std::min(list.find(separator), list.size());
    std::string_view path = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (separator == '\n') {
      if (path.ends_with('\r')) path.remove_suffix(1);
      if (path.find_first_not_of(" \t") == path.npos) continue;
    }
    if (!path.empty()) paths.emplace_back(path == "-" ? "./-" : path);
  }
  return paths;
}

std::vector<std::string> read_list(const CommandContext& context, const std::string& list,
                                   bool null_separated) {
  const auto source = open_input(context, list);
  const std::vector<std::byte> bytes = read_all(*source, kLongestList);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!null_separated && text.find('\0') != text.npos) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = source->path(),
                 .reason = "the list of files contains a null byte",
                 .hint = "if its paths end with null bytes, give --null"});
  }
  return paths_in(text, null_separated ? '\0' : '\n');
}

void append(FilesAndFolders more, FilesAndFolders& all) {
  std::ranges::move(more.files, std::back_inserter(all.files));
  std::ranges::move(more.folders, std::back_inserter(all.folders));
  std::ranges::move(more.left_out, std::back_inserter(all.left_out));
  std::ranges::move(more.indexes, std::back_inserter(all.indexes));
  if (all.mixed.empty()) all.mixed = std::move(more.mixed);
}

}  // namespace

FilesAndFolders expand_inputs(const CommandContext& context, const std::vector<std::string>& given,
                              const InputFilesOptions& options) {
  FilesAndFolders found;
  for (auto next = given.begin(); next != given.end();) {
    if (is_standard_input(*next)) {
      found.files.push_back(*next++);
      continue;
    }
    // Together, so that a folder is listed once.
    const auto end = std::find_if(next, given.end(), is_standard_input);
    append(find_files_and_folders(context.files, {next, end}, options), found);
    next = end;
  }
  return found;
}

void FileArguments::add_to(CommandApp& app, const std::string& name,
                           const std::string& description) {
  const auto paths = [this](const CommandContext& context) { return this->paths(context); };
  app.add_input(name, files_, description, paths).type_name(name == "FILE" ? "" : "FILE");
  const Option list =
      app.add_input("--files-from", list_,
                    "Also read the files that LIST_FILE names, one path a line; - is "
                    "standard input",
                    [this](const CommandContext& context) {
                      std::vector<std::string> all = this->paths(context);
                      all.push_back(list_);
                      return all;
                    })
          .type_name("LIST_FILE");
  app.add_flag("-0,--null", null_separated_,
               "Paths in LIST_FILE end with null bytes, as find -print0 writes them")
      .needs(list);
  if (folders_ == FolderInputs::record_files) add_recursive(app, recursive_);
  app.add_check([this, name] {
    if (files_.empty() && list_.empty()) throw ArgumentError(name + " or --files-from is required");
  });
}

const FilesAndFolders& FileArguments::found(const CommandContext& context) const {
  if (!found_ && !failure_) {
    try {
      found_ = find(context);
      note_left_out(context, *found_);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  if (failure_) std::rethrow_exception(failure_);
  return *found_;
}

FilesAndFolders FileArguments::find(const CommandContext& context) const {
  if (std::ranges::count_if(files_, is_standard_input) + (is_standard_input(list_) ? 1 : 0) > 1) {
    throw UsageError("standard input can be read once only");
  }
  InputFilesOptions options = {.recursive = recursive_,
                               .keep_folders = folders_ == FolderInputs::kept};
  FilesAndFolders found = expand_inputs(context, files_, options);
  options.literal = true;
  if (list_.empty()) return found;
  const std::vector<std::string> listed = read_list(context, list_, null_separated_);
  if (listed.empty()) throw UsageError("--files-from: the list is empty");
  append(find_files_and_folders(context.files, listed, options), found);
  return found;
}

Option add_recursive(CommandApp& app, bool& recursive) {
  return app.add_flag("--recursive", recursive,
                      "Also read the folders below a folder; links to folders are not followed");
}

void note_left_out(const CommandContext& context, const FilesAndFolders& found) {
  const std::string note = left_out_note(found);
  if (!note.empty()) context.progress.note("tfrecord: " + note);
}

}  // namespace recordpipe
