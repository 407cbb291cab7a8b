// Writes the records of files anew: compressed, split, merged, shuffled, sampled or edited.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dataset/toolkit/files/file_work.h"
#include "dataset/toolkit/files/input_records.h"
#include "dataset/toolkit/files/record_output.h"
#include "recordpipe/toolkit/record_selection.h"

namespace recordpipe {

struct ConvertOptions {
  InputReading input = {};
  RecordOutputOptions output = {};
  RecordSelection selection = {};  // its seed is that of sample_count and shuffle, too
  // Takes this many of the selected records, drawn at random. Not together with
  // selection.fraction.
  std::optional<uint64_t> sample_count = {};
  // Puts the records into a random order, through temporary files in `temporary_directory` (by
  // default the output's) if they don't fit into memory.
  bool shuffle = false;
  std::string temporary_directory = {};

  // Whether the inputs are read twice: the number of records is needed before the first is written.
  bool reads_twice() const { return !shuffle && (output.shards > 0 || sample_count); }
  // Whether every record and every feature of the inputs is written, so that the output may replace
  // an input.
  bool keeps_everything() const;
};

struct ConvertReport {
  std::vector<WrittenFile> files = {};
  uint64_t read = 0;   // records
  uint64_t taken = 0;  // of these, by the selection, before sample_count
};

// Throws the errors of select_records(), require_found() and RecordOutput. input.on_damage is
// called once for each region. The same inputs and options give the same files with any number of
// threads, except for output.fast, which depends on the kind of processor.
ConvertReport convert_records(const FileWork& work, ConvertOptions options);

}  // namespace recordpipe
