// The episodes and steps of the files of an RLDS data set, by number.
//
//     const auto files = EpisodeFiles::open({{"robot_a-train.tfrecord-00000-of-00512"}}, leaves);
//     const StepPlace place = files->step(123'456);
//     const auto jpeg = files->unit(place, kImage, place.step);  // kImage: its number in `leaves`
//
// The files are mapped, and read at random places: a page that is not in memory is read alone, not
// with its neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/io/file.h"
#include "recordpipe/record/record.h"
#include "recordpipe/rlds/step_index.h"

namespace recordpipe::rlds {

// Records [first, end) of a file; `end` may be beyond its last record.
struct EpisodeSlice {
  std::string path;
  uint64_t first = 0;
  uint64_t end = UINT64_MAX;
  std::optional<uint64_t> records = {};  // the number of records that the file must have
};

// A step, or with step 0 an episode.
struct StepPlace {
  size_t file = 0;
  uint64_t record = 0;  // in the file
  uint64_t step = 0;    // in the episode
  uint64_t steps = 0;   // of the episode
};

// Thread-safe.
class EpisodeFiles {
 public:
  // Finds the index of each file (find_step_index()), and makes those that there are not. Throws
  // the errors of opening a file and of StepIndex::scan(): a damaged record has no steps that could
  // be counted. Throws Error{corrupted} for a file of another number of records than expected.
  // Episodes are in the order of `slices`, which may overlap.
  static std::shared_ptr<const EpisodeFiles> open(const std::vector<EpisodeSlice>& slices,
                                                  std::vector<StepLeaf> leaves,
                                                  const StepIndexOptions& options = {},
                                                  FileSystem& file_system = posix_file_system());
  ~EpisodeFiles();
  // Only these episodes, in this order; an episode may be there several times. Opens nothing.
  // Throws Error{invalid_argument} for a number that is not below episodes().
  std::shared_ptr<const EpisodeFiles> chosen(std::span<const uint64_t> episodes) const;

  uint64_t steps() const;
  uint64_t episodes() const;
  const std::vector<StepLeaf>& leaves() const;
  // Step `number` < steps() of all episodes.
  StepPlace step(uint64_t number) const;
  // Episode `number` < episodes(), which may have no steps.
  StepPlace episode(uint64_t number) const;
  // The number of its first step.
  uint64_t first_step(uint64_t episode) const;

  // The record of the episode, of which nothing is read or checked. Valid as long as this object.
  Record record(const StepPlace& place) const;
  // Reads and checks the whole record. Throws Error{corrupted} if it is damaged,
  // Error{checksum_mismatch} if it is another record than the indexed one, and Error{truncated} if
  // the file was truncated.
  void check(const StepPlace& place) const;
  // The bytes of a unit (step_layout.h) of a leaf in the record; nothing if the record must be
  // parsed (then it is checked). The bytes are checked by the CRC of the index; nothing else of the
  // record is read, but the other units of a leaf whose units lie at equal distances, once. Throws
  // the errors of check(), and Error{corrupted} if the index is wrong.
  std::optional<std::span<const std::byte>> unit(const StepPlace& place, size_t leaf,
                                                 uint64_t unit) const;
  // Starts to read the unit from the disk, without waiting, if it is large. Never fails.
  void prefetch(const StepPlace& place, size_t leaf, uint64_t unit) const;

  // Differs between files of other content or other slices, whatever their folder.
  uint64_t fingerprint() const;
  // The path of the first file; "" if there are none.
  std::string first_path() const;

 private:
  struct State;
  explicit EpisodeFiles(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace recordpipe::rlds
