#include "recordpipe/tfds/load.h"

#include <optional>
#include <utility>

#include "recordpipe/pipeline/tfrecord_files.h"

namespace recordpipe::tfds {

Dataset<Record> records(const Info& info, const std::vector<ExampleRange>& ranges,
                        const RecordReadOptions& options, FileSystem& file_system) {
  check_files(ranges, info, file_system);
  std::optional<Dataset<Record>> all;
  for (const ExampleRange& range : ranges) {
    std::vector<CountedRecordFile> files;
    const std::vector<FileRange> parts = file_ranges({range}, info);
    for (const FileRange& part : parts) files.push_back({part.path, part.records});
    Dataset<Record> of_range = listed_tfrecord_files(file_system, std::move(files), options);
    if (parts.front().begin > 0) of_range = of_range.skip(parts.front().begin);
    if (parts.back().end < parts.back().records) of_range = of_range.take(range.end - range.begin);
    all = all ? all->concatenate(of_range) : of_range;
  }
  return all ? *std::move(all)
             : listed_tfrecord_files(file_system, std::vector<CountedRecordFile>(), options);
}

Dataset<Dict> load(const std::string& folder, std::string_view split, const ExampleOptions& options,
                   FileSystem& file_system) {
  const std::string found = find_folder(folder, file_system);
  const Info info = read_info(found, file_system);
  ExampleDecoder decode(read_features(found, file_system), options);
  return records(info, parse_split(split, info), {}, file_system).map(std::move(decode));
}

}  // namespace recordpipe::tfds
