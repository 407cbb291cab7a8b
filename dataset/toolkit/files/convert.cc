#include "dataset/toolkit/files/convert.h"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "recordpipe/error.h"
#include "recordpipe/stop.h"
#include "recordpipe/toolkit/external_shuffle.h"
#include "recordpipe/toolkit/feature_edit.h"

namespace recordpipe {
namespace {

class Conversion {
 public:
  Conversion(const FileWork& work, ConvertOptions options)
      : work_(work), options_(std::move(options)) {}

  ConvertReport run() {
    if (options_.shuffle) {
      shuffle();
    } else if (options_.reads_twice()) {
      count_and_write();
    } else {
      RecordOutput output(work_.files, options_.output);
      select("convert", options_.input, [&](RecordPieces record) { output.write(record); });
      finish(output);
    }
    return std::move(report_);
  }

 private:
  // Returns the number of selected records.
  uint64_t select(const char* activity, const InputReading& input,
                  const std::function<void(RecordPieces)>& consume) {
    const RecordSelection& selection = options_.selection;
    const SelectionReport report = select_inputs(work_, input, selection, activity, consume);
    if (report.taken > 0) {
      require_found(names_of(selection), report.found, report.present, report.looked_at_all);
    }
    report_.read = report.read;
    report_.taken = report.taken;
    return report.taken;
  }

  // The files appear, unless a stop was requested.
  void finish(RecordOutput& output) {
    throw_if_stopped(work_.stop, options_.output.path);
    report_.files = output.close();
  }

  // Returns the number of selected records. Computes no features anew for that, unless records for
  // which this fails are left out.
  uint64_t count() {
    InputReading counted = options_.input;
    if (counted.on_damage) counted.on_damage = [](const auto&, const auto&) {};
    RecordSelection& selection = options_.selection;
    const auto replace = selection.edit.replace;
    const FeatureNames replaced = selection.edit.replaced;
    const auto on_failed_edit = selection.on_failed_edit;
    if (on_failed_edit) {
      selection.on_failed_edit = [](const Error&) {};
    } else {
      selection.edit.replace = {};
      selection.edit.replaced = {};
    }
    const uint64_t total = select("count", counted, [](RecordPieces) {});
    selection.edit.replace = replace;
    selection.edit.replaced = replaced;
    selection.on_failed_edit = on_failed_edit;
    return total;
  }

  void count_and_write() {
    const uint64_t total = count();
    const uint64_t wanted = std::min(options_.sample_count.value_or(total), total);
    ExactSample sample(options_.selection.seed, wanted, total);
    RecordOutput output(work_.files, options_.output, wanted);
    select("convert", options_.input, [&](RecordPieces record) {
      if (sample.take_next()) output.write(record);
    });
    finish(output);
  }

  void shuffle() {
    const std::string& given = options_.temporary_directory;
    const std::string& path = options_.output.path;
    ExternalShuffle shuffle(
        {.directory = given.empty() ? parent_directory(work_.files.resolve_link(path)) : given,
         .seed = options_.selection.seed});
    select("shuffle", options_.input, [&](RecordPieces record) { shuffle.add(record); });
    // The first records of a random order are also a random sample.
    const uint64_t wanted =
        std::min(options_.sample_count.value_or(shuffle.size()), shuffle.size());
    RecordOutput output(work_.files, options_.output, wanted);
    uint64_t written = 0;
    shuffle.drain([&](std::span<const std::byte> data) {
      if (written == wanted) return;
      throw_if_stopped(work_.stop, path);
      output.write(data);
      ++written;
    });
    finish(output);
  }

  const FileWork& work_;
  ConvertOptions options_;
  ConvertReport report_;
};

}  // namespace

bool ConvertOptions::keeps_everything() const {
  return !selection.where && !selection.fraction && !selection.limit && !sample_count &&
         !selection.edit.select && selection.edit.drop.empty() && !selection.edit.replace &&
         !input.on_damage;
}

ConvertReport convert_records(const FileWork& work, ConvertOptions options) {
  return Conversion(work, std::move(options)).run();
}

}  // namespace recordpipe
