// Reads the records for `create` from other formats, with one class per format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/toolkit/json_examples.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/command_line/options.h"

namespace recordpipe {

class ExampleSource {
 public:
  using Consume = std::function<void(std::span<const std::byte> record)>;

  virtual ~ExampleSource() = default;
  // The number of records, if the source can find it without run().
  virtual std::optional<uint64_t> count() { return std::nullopt; }
  // Calls consume(record) for each record, in order. Each call of run() starts at the first record.
  virtual void run(const Consume& consume) = 0;
};

struct SourceOptions {
  size_t threads = 0;                    // 0: all cores
  FeatureTypes types = {};               // JSON and CSV
  char delimiter = ',';                  // CSV
  std::string encoding = {};             // of text: a name of iconv; empty: UTF-8
  NamePairs members = {};                // WebDataset: features by the extensions of members
  std::string temporary_directory = {};  // for data that is read twice or doesn't fit into memory
};

// JSON lines (json_examples.h).
std::unique_ptr<ExampleSource> json_source(const CommandContext& context,
                                           std::vector<std::string> paths,
                                           const SourceOptions& options);
// CSV (csv_examples.h).
std::unique_ptr<ExampleSource> csv_source(const CommandContext& context,
                                          std::vector<std::string> paths,
                                          const SourceOptions& options);
// LibSVM's text (libsvm_examples.h).
std::unique_ptr<ExampleSource> libsvm_source(const CommandContext& context,
                                             std::vector<std::string> paths,
                                             const SourceOptions& options);
// .npy and .npz.
std::unique_ptr<ExampleSource> numpy_source(const CommandContext& context,
                                            std::vector<std::string> paths,
                                            const SourceOptions& options);
// Whether a name ends as those of images, in upper or lower case.
bool is_image_name(std::string name);
// A folder with one folder of images per class (image_folder.cc).
std::unique_ptr<ExampleSource> image_folder_source(const CommandContext& context,
                                                   std::vector<std::string> paths,
                                                   const SourceOptions& options);
// CIFAR's archives.
std::unique_ptr<ExampleSource> cifar_source(const CommandContext& context,
                                            std::vector<std::string> paths);

// WebDataset's tar archives: a record for each sample (webdataset.h).
std::unique_ptr<ExampleSource> webdataset_source(const CommandContext& context,
                                                 std::vector<std::string> paths,
                                                 const SourceOptions& options);
// Parquet and Arrow files (python_tables.h).
std::unique_ptr<ExampleSource> table_source(const CommandContext& context,
                                            std::vector<std::string> paths,
                                            const SourceOptions& options);

}  // namespace recordpipe
