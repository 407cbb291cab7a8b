// tfrecord_files: the records of TFRecord files as a Dataset.
#pragma once

#include <string>
#include <vector>

#include "dataset/io/file.h"
#include "dataset/pipeline/dataset.h"
#include "dataset/record/record.h"
#include "dataset/record/record_reader.h"

namespace recordpipe {

// The records of `paths`, file after file, in order. An element's id is its number over all files.
//
// Plain files are mapped: a record is a span into the mapping, valid while the iterator lives, and
// its CRC is checked on the threads that compute elements, after any shuffling. Compressed files,
// pipes and devices are read as streams, in order, on the thread that plans: put a prefetch after
// them; their records own their bytes.
//
// Files are opened when their first record is wanted. Damage and missing files are errors at their
// place: records before them are delivered.
Dataset<Record> tfrecord_files(std::vector<std::string> paths, RecordReadOptions options = {});
// The same through another file system than the operating system's, which must outlive it.
Dataset<Record> tfrecord_files(FileSystem& file_system, std::vector<std::string> paths,
                               RecordReadOptions options = {});

}  // namespace recordpipe
