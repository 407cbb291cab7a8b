// The slicing syntax of TFDS: which Examples of which splits "train[:80%]" names.
//
//     parse_split("train[:80%]+val", info)   // [{train, 0, 24}, {val, 0, 5}]
//
// SPLIT, SPLIT[FROM:TO] or SPLIT[SHARDshard], joined with "+"; "all" is every split in order. FROM
// and TO may be absent. They are numbers of Examples (20), percent (12.5%) or shards (4shard), and
// negative ones count from the end. A unit holds for both. Percent are rounded to the closest
// Example, a half to the even one, as in TFDS: splits of several slices are disjoint and complete.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/tfds/info.h"

namespace recordpipe::tfds {

// The Examples [begin, end) of a split.
struct ExampleRange {
  bool operator==(const ExampleRange&) const = default;

  std::string split;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// How percent become numbers of Examples.
enum class Rounding {
  closest,             // the closest number
  pct1_dropremainder,  // multiples of 1 %, rounded down: all slices of n % have the same size.
                       // Throws Error{invalid_argument} for splits of less than 100 Examples
};
std::string_view to_string(Rounding rounding);

// Ranges without Examples are left out. Throws Error{invalid_argument} for another syntax, an
// unknown split (which lists those that there are), and a slice beyond the split.
std::vector<ExampleRange> parse_split(std::string_view split, const Info& info,
                                      Rounding rounding = Rounding::closest);

// Consecutive Examples of a file: [begin, end) of its `records`.
struct FileRange {
  bool operator==(const FileRange&) const = default;

  std::string path;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t records = 0;
};

// The files that hold the ranges, in order, without files of which nothing is needed.
std::vector<FileRange> file_ranges(const std::vector<ExampleRange>& ranges, const Info& info);

// Looks whether the files that hold the ranges are there; opens none. Throws Error{not_found},
// which names the first missing file, and Error{corrupted} for a file that belongs to another
// version of one of the splits, with another number of files (NAME-train.tfrecord-00000-of-00003
// where the split has 2). Files of which nothing is needed may be missing: of a data set of
// terabytes, the first shards are enough for "train[:4shard]".
void check_files(const std::vector<ExampleRange>& ranges, const Info& info,
                 FileSystem& file_system = posix_file_system());

}  // namespace recordpipe::tfds
