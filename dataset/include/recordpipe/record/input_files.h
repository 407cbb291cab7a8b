// Finds the files that the inputs of a program name: paths, folders, patterns, braces and sets of
// shards.
//
//     find_input_files(files, {"train@64", "extra/*.tfrecord", "more/{a,b}-{000..127}.tfrecord"})
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/io/file.h"

namespace recordpipe {

struct InputFilesOptions {
  // Also reads the folders below a folder.
  bool recursive = false;
  // Folders are results, and are not replaced by the record files in them.
  bool keep_folders = false;
  // Names are paths or URLs, and never patterns, braces or sets of shards.
  bool literal = false;
};

// Returns the files of each name, in the order of the names. A name is one of:
//
//   an existing file    Itself, also if it looks like a pattern.
//   a folder            The record files in it (is_record_file_name()), sorted by path. With
//                       `recursive` also those in folders below it, except folders that begin with
//                       . or _ and links to folders. Error{not_found} if there is none.
//   a pattern           The files that match (glob.h), sorted by path, without the indexes
//                       (PATH.idx, PATH.steps) of other matches. ** stands for any number of
//                       folders, also none. A pattern that ends with / matches folders, which are
//                       then read as above. Error{not_found} without a match.
//   braces              {a,b}, {0000..1023}, {9..1}, {0..96..8}, {a..e}, as bash expands them:
//                       several in one name, nested, before patterns and shards. The order is
//                       bash's: first all files of the first word. Other braces are literal.
//   NAME@N              The N shards of a set, as Beam and T5 write it: train@64 stands for
//                       train-00000-of-00064 to train-00063-of-00064. An ending may follow:
//                       train@64.gz stands for train-00000-of-00064.gz and so on.
//   an http(s) URL      Braces and @N apply to its path, not to its query. It is never a pattern,
//                       and no request is made.
//   any other path      Itself: opening it reports that it doesn't exist.
//
// Of the names, the indexes (NAME.idx, NAME.steps) of other names are left out.
//
// All files that braces and @N stand for must exist: otherwise Error{not_found} names the first
// missing one, and how many are missing. A backslash escapes the next character of a pattern.
//
// A folder is listed at most once, and the status of a file in a listed folder is not requested.
// Throws Error{limit_exceeded}, before it takes memory, if one name has braces or @N that stand for
// more than 1,000,000 files, and the errors of FileSystem::list_entries().
std::vector<std::string> find_input_files(FileSystem& file_system,
                                          const std::vector<std::string>& names,
                                          const InputFilesOptions& options = {});

// Files, and the folders that were read with the folders below them: with `recursive`, those that
// the names stand for. A file's place below its folder is a name that no other file below it has.
struct FilesAndFolders {
  std::vector<std::string> files = {};
  std::vector<std::string> folders = {};
  // Files in folders that were not taken, and may be record files (may_be_record_file_name()).
  std::vector<std::string> left_out = {};
  // Names that were left out: indexes of other names, beside which a shell's pattern puts them.
  std::vector<std::string> indexes = {};
  // Two files that are shards of different sets with one name: "x-00000-of-00003",
  // "x-00000-of-00004". The records of one set are often those of the other; empty if there are
  // none.
  std::vector<std::string> mixed = {};
};
// What a program should say of `left_out`, `indexes` and `mixed`; empty if there are none.
std::string left_out_note(const FilesAndFolders& found);
// The same as find_input_files(), with the folders.
FilesAndFolders find_files_and_folders(FileSystem& file_system,
                                       const std::vector<std::string>& names,
                                       const InputFilesOptions& options = {});

// Whether a file in a folder is taken for a TFRecord file. `name` is its name without folders.
// Either the name contains "tfrec" in upper or lower case ("a.tfrecord", "b.tfrecords.gz",
// "c.tfrecord-00000-of-00010"), or it is that of a shard without another ending
// ("train-00000-of-01024", "train-00000-of-01024.gz"). Names that begin with . or _ are not, nor
// are indexes (.idx, .index, .steps), checksums (.md5, .sha1, .sha256, .crc) and notes (.json,
// .txt).
bool is_record_file_name(std::string_view name);
// Whether a file that is not taken for one may be one: its name neither begins with . or _ nor has
// the ending of an index, a checksum, a note or another well-known format: "train.record".
bool may_be_record_file_name(std::string_view name);

}  // namespace recordpipe
