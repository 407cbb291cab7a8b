// Finds the files of CIFAR-10 subsets and makes batches from their records.
#include "recordpipe/cifar/cifar10_dataset.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "dataset/cifar/cifar_example.h"
#include "dataset/record/shard_set.h"
#include "recordpipe/base/error.h"
#include "recordpipe/image/pad_crop_flip.h"
#include "recordpipe/pipeline/tfrecord_files.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe {
namespace {

struct DrawCrop {
  PadCropFlipOptions options;

  ImageRow operator()(ImageRow row, Random& random) const {
    row.distortion = PadCropFlip::draw(random, options);
    return row;
  }
  // The defaults aren't named, as in the states that earlier versions saved.
  std::vector<Parameter> parameters() const {
    std::vector<Parameter> all = {{"pad", options.pad}};
    if (options.reflect) all.emplace_back("reflect", true);
    if (options.alternating_flip) all.emplace_back("alternating_flip", true);
    if (options.cutout != 0) all.emplace_back("cutout", options.cutout);
    return all;
  }
};

ImageRow row_of(Record record) {
  Cifar10Record image = parse_cifar10_record(std::move(record));
  return {.pixels = image.pixels, .label = image.label, .owner = std::move(image.owner)};
}

Error not_found(const std::string& data_dir, std::string reason, const std::string& options = "") {
  return Error(
      {.kind = ErrorKind::not_found,
       .path = data_dir,
       .reason = std::move(reason),
       .hint = "run generate_cifar10_tfrecords --data-dir " + printable(data_dir) + options});
}

// Throws an Error for a FIFO or a device: opening a FIFO would block, and the files are read twice
// (first to count the records).
std::string regular_file(FileSystem& files, std::string path) {
  const auto status = files.status(path);
  if (status && status->kind == FileKind::other) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = path,
                 .reason = "not a regular file but a FIFO or a device"});
  }
  return path;
}

}  // namespace

std::string_view to_string(Cifar10Subset subset) {
  switch (subset) {
    case Cifar10Subset::train:
      return "train";
    case Cifar10Subset::validation:
      return "validation";
    case Cifar10Subset::eval:
      return "eval";
  }
  return "unknown";
}

std::vector<std::string> cifar10_files(const std::string& data_dir, Cifar10Subset subset) {
  FileSystem& files = posix_file_system();
  const std::string name(to_string(subset));
  if (!files.is_directory(data_dir)) {
    throw not_found(data_dir, "there is no such folder");
  }
  std::vector<std::string> shards;
  bool whole = false;
  for (const std::string& entry : files.list(data_dir)) {
    if (entry == name + ".tfrecords") whole = true;
    // NAME-00000-of-00004.tfrecords
    if (entry.size() == name.size() + 25 && entry.starts_with(name + "-") &&
        entry.ends_with(".tfrecords") && entry.substr(name.size() + 6, 4) == "-of-") {
      shards.push_back(entry);
    }
  }
  if (whole && !shards.empty()) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = data_dir,
                 .reason = "holds both " + name + ".tfrecords and shards such as " + shards[0],
                 .hint = "remove one of them"});
  }
  if (whole) return {regular_file(files, data_dir + "/" + name + ".tfrecords")};
  if (shards.empty()) throw not_found(data_dir, "holds no " + name + ".tfrecords");

  size_t count = 0;
  const std::string of = shards[0].substr(name.size() + 10, 5);
  std::from_chars(of.data(), of.data() + of.size(), count);
  std::vector<std::string> paths;
  for (size_t i = 0; i < shards.size(); ++i) {
    if (shards.size() != count || shards[i] != shard_name(name, i, count, ".tfrecords")) {
      throw not_found(data_dir,
                      "the shards of " + name + " are not complete: " +
                          std::to_string(shards.size()) + " files, " + shards[i] + " among them",
                      " --shards " + std::to_string(count) + " --force");
    }
    paths.push_back(regular_file(files, data_dir + "/" + shards[i]));
  }
  return paths;
}

Dataset<ImageBatch> cifar10_batches(const std::vector<std::string>& files,
                                    const Cifar10Options& options) {
  Dataset<Record> records = tfrecord_files(files, {}, {.remedy = {}});
  if (options.global_shuffle) {
    records = records.global_shuffle(options.seed);
  } else if (options.shuffle_buffer > 0) {
    records = records.shuffle(options.shuffle_buffer, options.seed);
  }
  records = records.repeat(options.epochs);
  if (options.num_shards > 0) records = records.shard(options.num_shards, options.shard_index);
  Dataset<ImageRow> images = records.map(row_of);
  if (options.distort) images = images.map_with_random(options.seed, DrawCrop{options.distortion});
  const ImageFormat format{.dtype = options.dtype, .layout = options.layout};
  check(options.normalization, format);
  auto batches = images.batch(options.batch_size,
                              options.drop_remainder ? DropRemainder::yes : DropRemainder::no,
                              ImageCollator{format, options.normalization});
  if (options.prefetch > 0) batches = batches.prefetch(options.prefetch);
  return batches.with_options({.threads = options.threads});
}

size_t cifar10_count(const std::vector<std::string>& files) {
  size_t count = 0;
  for (const std::string& file : files) {
    if (detect_compression(posix_file_system(), file) == Compression::none) {
      count += MappedRecordFile(posix_file_system(), file).size();
    } else {
      RecordReader reader(posix_file_system(), file);
      while (reader.read()) ++count;
    }
  }
  return count;
}

}  // namespace recordpipe
