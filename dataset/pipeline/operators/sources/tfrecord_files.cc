// tfrecord_files: the records of TFRecord files.
#include "recordpipe/pipeline/tfrecord_files.h"

#include <numeric>
#include <stop_token>
#include <utility>

#include "dataset/base/require.h"
#include "dataset/pipeline/operators/sources/record_plan.h"
#include "dataset/pipeline/operators/sources/record_producer.h"
#include "dataset/pipeline/plan/node.h"
#include "dataset/pipeline/plan/skip_log.h"
#include "dataset/pipeline/plan/stage.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/call_stop.h"
#include "recordpipe/record/input_files.h"

namespace recordpipe {
namespace internal {
namespace {

class RecordNode final : public Node {
 public:
  RecordNode(std::shared_ptr<FileSystem> file_system, std::vector<std::string> paths,
             std::vector<uint64_t> counts, RecordReadOptions options, DamageOptions damage)
      : Node(element_ops<Record>()),
        file_system_(std::move(file_system)),
        paths_(std::move(paths)),
        counts_(std::move(counts)),
        options_(options),
        damage_(std::move(damage)) {}
  // Claims random access. Throws for a compressed local file; if another file has no random access,
  // size() throws when it opens the file.
  std::string sequential_operator() const override {
    if (damage_.on_damage != OnDamage::raise) {
      refuse_random_access({}, "intact records are found one after the other with on_damage",
                           "shuffle with a buffer");
    }
    for (const std::string& path : paths_) {
      const Compression compression = compression_of_local(path);
      if (compression == Compression::none) continue;
      refuse_random_access(path, "compressed with " + std::string(to_string(compression)),
                           "decompress it first, or shuffle with a buffer");
    }
    return {};
  }
  Cardinality cardinality() const override {
    if (!counts_.empty()) {
      return known_cardinality(std::accumulate(counts_.begin(), counts_.end(), uint64_t{0}));
    }
    if (damage_.on_damage != OnDamage::raise) return kUnknownCardinality;
    try {
      const auto opened = std::make_shared<OpenedRecords>(paths_.size());
      const std::stop_callback stop(call_stop, [&] { opened->stop.request(); });
      return known_cardinality(count_records(files_of(make_stage_context({.threads = 1}), opened)));
    } catch (const Error& error) {
      if (!is_for_stream(error.kind())) throw;
      return kUnknownCardinality;
    }
  }

 protected:
  PlanDescription describe_operator() const override {
    PlanDescription description{.name = "tfrecord_files",
                                .parameters = {{"files", paths_.size()}},
                                .file_system = file_system_.get(),
                                .files = paths_};
    if (damage_.on_damage != OnDamage::raise) {
      description.add({{"on_damage", std::string(to_string(damage_.on_damage))}});
    }
    return description;
  }
  Stage build_stage(const StageContext& context) const override {
    auto opened = std::make_shared<OpenedRecords>(paths_.size());
    StageContext own = context;
    if (!own.source) own.source = own.skipped->add_source();
    auto plan = make_record_plan(files_of(own, opened));
    auto work = record_work(std::move(opened), options_.crc != CrcCheck::never, damage_.remedy);
    return {std::move(plan), std::move(work), context.chunk_size};
  }

 private:
  // None for a file that can't be mapped, or can't be read: it is looked at when it is opened.
  Compression compression_of_local(const std::string& path) const {
    try {
      if (!file_system_->can_map(path) || !regular_file_size(*file_system_, path)) {
        return Compression::none;
      }
      return detect_compression(*file_system_, path, options_);
    } catch (const Error&) {
      return Compression::none;
    }
  }
  RecordFiles files_of(const StageContext& context, std::shared_ptr<OpenedRecords> opened) const {
    return {*file_system_, paths_, counts_, options_, damage_, context, std::move(opened)};
  }

  const std::shared_ptr<FileSystem> file_system_;
  std::vector<std::string> paths_;
  std::vector<uint64_t> counts_;
  RecordReadOptions options_;
  DamageOptions damage_;
};

// For a FileSystem that outlives the Dataset.
std::shared_ptr<FileSystem> not_owned(FileSystem& file_system) {
  return {std::shared_ptr<FileSystem>(), &file_system};
}

Dataset<Record> record_files(std::shared_ptr<FileSystem> file_system,
                             std::vector<std::string> paths, std::vector<uint64_t> counts,
                             RecordReadOptions options, DamageOptions damage) {
  if (options.crc == CrcCheck::never) {
    require(damage.on_damage == OnDamage::raise,
            "tfrecord_files: on_damage finds damage by the CRCs, which "
            "CrcCheck::never doesn't check");
    damage.remedy.clear();
  }
  require(paths.size() <= RecordRef::kMaxFiles,
          "tfrecord_files: more than " + std::to_string(RecordRef::kMaxFiles) + " files");
  return DatasetNode::source<Record>(
      std::make_shared<RecordNode>(std::move(file_system), std::move(paths), std::move(counts),
                                   std::move(options), std::move(damage)));
}

}  // namespace
}  // namespace internal

Dataset<Record> tfrecord_files(std::vector<std::string> paths, RecordReadOptions options,
                               DamageOptions damage) {
  return tfrecord_files(posix_file_system(), std::move(paths), options, std::move(damage));
}

Dataset<Record> tfrecord_files(FileSystem& file_system, std::vector<std::string> paths,
                               RecordReadOptions options, DamageOptions damage) {
  return internal::record_files(internal::not_owned(file_system),
                                find_input_files(file_system, paths), {}, std::move(options),
                                std::move(damage));
}

Dataset<Record> listed_tfrecord_files(std::shared_ptr<FileSystem> file_system,
                                      std::vector<std::string> paths, RecordReadOptions options,
                                      DamageOptions damage) {
  return internal::record_files(std::move(file_system), std::move(paths), {}, std::move(options),
                                std::move(damage));
}

Dataset<Record> listed_tfrecord_files(FileSystem& file_system, std::vector<CountedRecordFile> files,
                                      RecordReadOptions options) {
  std::vector<std::string> paths;
  std::vector<uint64_t> counts;
  for (CountedRecordFile& file : files) {
    paths.push_back(std::move(file.path));
    counts.push_back(file.records);
  }
  return internal::record_files(internal::not_owned(file_system), std::move(paths),
                                std::move(counts), std::move(options), {.remedy = {}});
}

}  // namespace recordpipe
