#include "dataset/toolkit/jobs/convert_records.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "dataset/base/available_cpus.h"
#include "dataset/base/damage_hint.h"
#include "dataset/toolkit/files/count_records.h"
#include "dataset/toolkit/files/many_files.h"
#include "dataset/toolkit/jobs/kept_records.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/toolkit/external_shuffle.h"
#include "recordpipe/toolkit/feature_edit.h"

namespace recordpipe {
namespace {

class Conversion {
 public:
  Conversion(const FileWork& work, ConvertOptions options)
      : work_(work),
        options_(std::move(options)),
        splitter_(options_.output.split, options_.selection.seed),
        in_split_(options_.output.sets()) {
    check_conversion(options_);
  }

  ConvertReport run() {
    if (options_.shuffle) {
      shuffle();
    } else if (options_.needs_count()) {
      count_and_write();
    } else {
      RecordOutput output(work_.files, options_.output);
      select("convert", [&](RecordPieces pieces, const NumberedRecord& record) {
        output.write(pieces, split_of(record));
      });
      finish(output);
    }
    for (const std::string& note : notes_) work_.note(note);
    return std::move(report_);
  }

 private:
  using Consume = std::function<void(RecordPieces, const NumberedRecord&)>;

  bool splits() const { return !options_.output.split.parts.empty(); }
  bool draws_split() const { return splits() && !options_.output.split.key; }
  size_t split_of(const NumberedRecord& record) {
    return splits() ? splitter_.split_of(record) : 0;
  }

  // Returns the number of selected records.
  uint64_t select(const char* activity, const Consume& consume) {
    return select(work_, activity, consume);
  }
  uint64_t select(const FileWork& work, const char* activity, const Consume& consume) {
    const RecordSelection& selection = options_.selection;
    const SelectionReport report =
        select_inputs(work, options_.input, selection, activity, consume);
    // What `where` counts would be counted again in another pass.
    const bool is_first = std::exchange(is_first_pass_, false);
    if (is_first && selection.where) report_.features.seen = selection.where->seen();
    if (selection.is_part) {
      report_.features.any_taken = report.taken > 0;
      report_.features.found = report.found;
      report_.features.present = report.present;
    } else {
      if (report.taken > 0) {
        notes_.insert(
            require_found(names_of(selection), report.found, report.present, report.looked_at_all));
      }
      if (is_first) notes_.insert(report.note);
    }
    report_.read = report.read;
    report_.taken = report.taken;
    return report.taken;
  }

  // Returns the number of records that will be selected; in_split_ has those of each split.
  uint64_t count(KeptRecords& kept) {
    if (!options_.counts_without_data()) return count_selected(kept);
    kept.drop();
    const std::vector<uint64_t> counts = count_inputs();
    if (options_.selection.fraction || draws_split()) {
      count_drawn(counts);
    } else {
      in_split_[0] = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
    }
    return std::accumulate(in_split_.begin(), in_split_.end(), uint64_t{0});
  }

  // Draws for each record of the inputs, without reading it.
  void count_drawn(const std::vector<uint64_t>& counts) {
    uint64_t index = 0;
    for (size_t file = 0; file < counts.size(); ++file) {
      const std::string& path = options_.input.paths[file];
      for (uint64_t number = 0; number < counts[file]; ++number, ++index) {
        throw_if_stopped(work_.stop, path);
        if (!is_in_sample(options_.selection, index)) continue;
        ++in_split_[draws_split() ? splitter_.drawn(path, number) : 0];
      }
    }
  }

  // Returns the number of records of each input.
  std::vector<uint64_t> count_inputs() const {
    const std::vector<std::string>& paths = options_.input.paths;
    work_.begin("count");
    std::vector<uint64_t> counts;
    for_each_file<uint64_t>(
        paths.size(), thread_count(options_.selection.threads),
        [&](size_t number) { return turn_of_headers(work_, paths[number]); },
        [&](FileShare share) {
          return naming_remedy(options_.input.remedy, [&] {
            return count_records(work_, paths[share.number], options_.input.reading,
                                 UrlHeaders::leave);
          });
        },
        [&](uint64_t records) {
          counts.push_back(records);
          return true;
        });
    return counts;
  }

  // The same by a pass over all records, which reports what is left out. Computes no features anew
  // for that, unless records for which this fails are left out.
  uint64_t count_selected(KeptRecords& kept) {
    RecordSelection& selection = options_.selection;
    const auto replace = selection.edit.replace;
    const FeatureNames replaced = selection.edit.replaced;
    const bool computes = !replace || selection.on_failed_edit;
    if (!computes) {
      kept.drop();
      selection.edit.replace = {};
      selection.edit.replaced = {};
    }
    FileWork work = work_;
    work.advance = [&](uint64_t bytes) {
      kept.count_read(bytes);
      work_.add(bytes);
    };
    const uint64_t total =
        select(work, "count", [&](RecordPieces pieces, const NumberedRecord& record) {
          const size_t split = split_of(record);
          ++in_split_[split];
          kept.add(pieces, split);
        });
    selection.edit.replace = replace;
    selection.edit.replaced = replaced;
    options_.input.damaged = {};
    if (selection.on_failed_edit) selection.on_failed_edit = [](const Error&) {};
    return total;
  }

  void require_counted(uint64_t total) const {
    if (report_.taken == total) return;
    throw Error({.kind = ErrorKind::corrupted,
                 .path = options_.output.path,
                 .reason = std::to_string(total) + " records were counted, but " +
                           std::to_string(report_.taken) + " were read",
                 .hint = "an input was changed while it was read, or its index is another file's: "
                         "write the index anew"});
  }

  // The files appear, unless a stop was requested.
  void finish(RecordOutput& output) {
    throw_if_stopped(work_.stop, options_.output.path);
    report_.files = output.close();
  }

  void count_and_write() {
    KeptRecords kept(options_.temporary_directory);
    const uint64_t total = count(kept);
    const uint64_t wanted = std::min(options_.sample_count.value_or(total), total);
    ExactSample sample(options_.selection.seed, wanted, total);
    if (!splits()) in_split_[0] = wanted;
    RecordOutput output(work_.files, options_.output, in_split_);
    if (kept.has_all()) {
      kept.drain([&](std::span<const std::byte> data, size_t split) {
        throw_if_stopped(work_.stop, options_.output.path);
        if (sample.take_next()) output.write(std::span(&data, 1), split);
      });
    } else {
      select("convert", [&](RecordPieces pieces, const NumberedRecord& record) {
        if (sample.take_next()) output.write(pieces, split_of(record));
      });
      require_counted(total);
    }
    finish(output);
  }

  // A shuffled record begins with the number of its split, if there are any.
  void shuffle() {
    const std::string& given = options_.temporary_directory;
    const std::string& path = options_.output.path;
    ExternalShuffle shuffle(
        {.directory = given.empty() ? parent_directory(work_.files.resolve_link(path)) : given,
         .seed = options_.selection.seed});
    std::vector<std::span<const std::byte>> all;
    select("shuffle", [&](RecordPieces pieces, const NumberedRecord& record) {
      const size_t split = split_of(record);
      ++in_split_[split];
      if (!splits()) return shuffle.add(pieces);
      const auto tag = static_cast<uint32_t>(split);
      all.assign(1, std::as_bytes(std::span(&tag, 1)));
      all.insert(all.end(), pieces.begin(), pieces.end());
      shuffle.add(all);
    });
    // The first records of a random order are also a random sample.
    const uint64_t wanted =
        std::min(options_.sample_count.value_or(shuffle.size()), shuffle.size());
    if (!splits()) in_split_[0] = wanted;
    RecordOutput output(work_.files, options_.output, in_split_);
    uint64_t written = 0;
    shuffle.drain([&](std::span<const std::byte> data) {
      if (written == wanted) return;
      throw_if_stopped(work_.stop, path);
      uint32_t tag = 0;
      if (splits()) {
        std::memcpy(&tag, data.data(), sizeof(tag));
        data = data.subspan(sizeof(tag));
      }
      output.write(std::span(&data, 1), tag);
      ++written;
    });
    finish(output);
  }

  const FileWork& work_;
  ConvertOptions options_;
  RecordSplitter splitter_;
  std::vector<uint64_t> in_split_;  // numbers of records; one without splits
  std::set<std::string> notes_;     // of all passes
  bool is_first_pass_ = true;
  ConvertReport report_;
};

}  // namespace

bool ConvertOptions::may_replace_input() const {
  return input.paths.size() == 1 && !selection.where && !selection.fraction && !selection.limit &&
         !sample_count && !selection.edit.select && selection.edit.drop.empty() &&
         !selection.edit.replace && input.on_damage == OnDamage::raise;
}

void check_conversion(const ConvertOptions& options) {
  const RecordSplit& split = options.output.split;
  check_split(split);
  check_split_inputs(split, options.input.paths);
  const bool splits_sample = options.sample_count && !split.parts.empty();
  if (!splits_sample || !options.output.needs_counts()) return;
  throw Error({.kind = ErrorKind::invalid_argument,
               .path = options.output.path,
               .reason = "a sample of an exact size, split and in shards of consecutive records",
               .hint = "shards in round-robin order need no numbers of records"});
}

ConvertReport convert_records(const FileWork& work, ConvertOptions options) {
  return Conversion(work, std::move(options)).run();
}

}  // namespace recordpipe
