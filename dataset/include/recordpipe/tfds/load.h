// load(): the Examples of a data set that TensorFlow Datasets wrote, as a Dataset.
//
//     const Dataset<Dict> train = tfds::load("data/pictures/1.0.0", "train[:80%]");
//     const auto batches = train.global_shuffle(7).batch(64, DropRemainder::yes, DictCollator());
//     for (const DictBatch& batch : batches.prefetch()) use(batch.columns.at("label").array());
//
// Nothing is decoded before its batch is made: operators that only order elements move tickets.
// Examples are in the order of the files, as TFDS reads them with
// ReadConfig(interleave_cycle_length=1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "recordpipe/example/dict.h"
#include "recordpipe/io/file.h"
#include "recordpipe/pipeline/dataset.h"
#include "recordpipe/record/record.h"
#include "recordpipe/record/record_reader.h"
#include "recordpipe/tfds/decode.h"
#include "recordpipe/tfds/info.h"
#include "recordpipe/tfds/splits.h"

namespace recordpipe::tfds {

// The records of `ranges` of a data set: no other file is opened, and no other record is read.
// Throws Error{not_found} and Error{corrupted} as check_files(). An iterator throws
// Error{corrupted}, which names the file, when the first record of a file that has another number
// of records than dataset_info.json says is needed.
Dataset<Record> records(const Info& info, const std::vector<ExampleRange>& ranges,
                        const RecordReadOptions& options = {},
                        FileSystem& file_system = posix_file_system());

// The Examples of `split` (splits.h). `folder` as of find_folder(). Throws the errors of
// find_folder(), read_info(), read_features(), parse_split(), records() and ExampleDecoder.
Dataset<Dict> load(const std::string& folder, std::string_view split = "train",
                   const ExampleOptions& options = {},
                   FileSystem& file_system = posix_file_system());

}  // namespace recordpipe::tfds
