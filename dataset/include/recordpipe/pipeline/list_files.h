// list_files: a source of the paths of files.
#pragma once

#include <string>
#include <vector>

#include "recordpipe/io/file.h"
#include "recordpipe/pipeline/dataset.h"

namespace recordpipe {

// Yields the paths of files, in order, for operators that open them:
//
//     list_files({"train-*.tfrecords"}).interleave(
//         [](std::string path) { return tfrecord_files({std::move(path)}); }, 16)
//
// Folders, patterns, braces and sets of shards are expanded at the time of this call, as by
// tfrecord_files(); folders by the names of record files (input_files.h). A saved state compares
// the names, the order and the sizes of the files, and the content of those that were opened;
// from_vector() of paths would know their number only. Supports random access.
Dataset<std::string> list_files(std::vector<std::string> paths);
// The same with another FileSystem, which must outlive the Dataset and its iterators.
Dataset<std::string> list_files(FileSystem& file_system, std::vector<std::string> paths);

}  // namespace recordpipe
