#include "python/native/toolkit.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "dataset/toolkit/files/file_facts.h"
#include "dataset/toolkit/files/file_identity.h"
#include "dataset/toolkit/files/record_output.h"
#include "dataset/toolkit/files/scan_file.h"
#include "dataset/toolkit/files/survey.h"
#include "python/native/errors.h"
#include "python/native/file_work.h"
#include "python/native/interpreter_exit.h"
#include "python/native/schema.h"
#include "recordpipe/atomic_file.h"
#include "recordpipe/error.h"
#include "recordpipe/record_index.h"
#include "recordpipe/record_writer.h"
#include "recordpipe/stop.h"

namespace recordpipe::python {
namespace {

nb::object error_or_none(const std::optional<Error>& error) {
  return error ? to_python(*error) : nb::object(nb::none());
}

// (minimum, median, maximum, whether the median is exact).
nb::object sizes_of(const Distribution& sizes) {
  if (sizes.count() == 0) return nb::none();
  return nb::make_tuple(static_cast<uint64_t>(sizes.min()), sizes.quantile(0.5),
                        static_cast<uint64_t>(sizes.max()), sizes.exact());
}

// The arguments of FileInfo._of() (recordpipe/reports.py).
nb::tuple facts_of(const FileFacts& facts) {
  const nb::object compression =
      facts.compression ? nb::object(text(to_string(*facts.compression))) : nb::object(nb::none());
  if (!facts.was_read) {
    const nb::object none = nb::none();
    return nb::make_tuple(FilePath{facts.path}, none, facts.bytes, none, compression, none, none,
                          false, error_or_none(facts.error));
  }
  return nb::make_tuple(FilePath{facts.path}, facts.records, facts.bytes, facts.content_bytes,
                        compression, sizes_of(facts.sizes), to_python(facts.sample), facts.indexed,
                        error_or_none(facts.error));
}

// Returns a list of the files' facts, and those of all files together.
nb::tuple info(const std::vector<FilePath>& given, const Reading& reading,
               const nb::object& progress) {
  const Inputs inputs = find_inputs(given);
  std::vector<FileFacts> files;
  FileFacts total;
  run_file_work(progress, inputs.bytes, [&](const FileWork& work) {
    for (const std::string& path : inputs.paths) {
      files.push_back(find_file_facts(work, path, read_options(reading)));
      total.merge(files.back());
    }
  });
  nb::list listed;
  for (const FileFacts& file : files) listed.append(facts_of(file));
  return nb::make_tuple(listed, facts_of(total));
}

// The first regions of a file; their number is unlimited.
class Damage {
 public:
  static constexpr size_t kMostRegions = 10'000;

  ScanSinks sinks() {
    return {.intact = [this](auto, uint64_t count) { records_ += count; },
            .damaged =
                [this](const DamagedRegion& region) {
                  ++found_;
                  if (regions_.size() < kMostRegions) regions_.emplace_back(region, records_);
                }};
  }

  // The arguments of FileReport._of() (recordpipe/reports.py).
  nb::tuple to_python(const std::string& path, const std::optional<ScanTotals>& totals,
                      const std::optional<Error>& error) const {
    nb::list regions;
    for (const auto& [region, records_before] : regions_) {
      regions.append(nb::make_tuple(region.begin, region.end, text(region.reason),
                                    text(region.hint), records_before));
    }
    const nb::object none = nb::none();
    if (!totals) {
      return nb::make_tuple(FilePath{path}, false, records_, regions, found_, none, none, none,
                            error_or_none(error));
    }
    return nb::make_tuple(FilePath{path}, totals->intact(), totals->records, regions, found_,
                          totals->bytes, totals->lost, text(to_string(totals->compression)), none);
  }

 private:
  uint64_t records_ = 0;
  uint64_t found_ = 0;
  std::vector<std::pair<DamagedRegion, uint64_t>> regions_;
};

nb::list verify(const std::vector<FilePath>& given, const Reading& reading, size_t threads,
                const nb::object& progress) {
  struct Verified {
    Damage damage = {};
    std::optional<ScanTotals> totals = {};
    std::optional<Error> error = {};
  };
  const Inputs inputs = find_inputs(given);
  std::vector<Verified> files(inputs.paths.size());
  run_file_work(progress, inputs.bytes, [&](const FileWork& work) {
    for (size_t i = 0; i < files.size(); ++i) {
      try {
        files[i].totals = scan_file(work, inputs.paths[i], read_options(reading), threads,
                                    files[i].damage.sinks());
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::cancelled) throw;
        files[i].error = error;
      }
    }
  });
  nb::list reports;
  for (size_t i = 0; i < files.size(); ++i) {
    reports.append(files[i].damage.to_python(inputs.paths[i], files[i].totals, files[i].error));
  }
  return reports;
}

// Returns (reports of the inputs, number of records written).
nb::tuple salvage(const std::vector<FilePath>& given, const FilePath& target,
                  const Reading& reading, const std::optional<std::string>& compression,
                  size_t threads, const nb::object& progress) {
  std::optional<Compression> wanted;
  if (compression) wanted = compression_of(*compression);
  const Inputs inputs = find_inputs(given);
  require_no_input(inputs.paths, {target.bytes});
  std::vector<Damage> damages(inputs.paths.size());
  std::vector<std::optional<ScanTotals>> totals(inputs.paths.size());
  uint64_t written = 0;
  run_file_work(progress, inputs.bytes, [&](const FileWork& work) {
    RecordWriter writer(work.files, target.bytes,
                        {.compression = compression_for(target.bytes, wanted)});
    for (size_t i = 0; i < damages.size(); ++i) {
      totals[i] = salvage_file(work, inputs.paths[i], read_options(reading), threads,
                               damages[i].sinks(), writer);
    }
    const bool intact = std::ranges::all_of(totals, [](const auto& one) { return one->intact(); });
    written = writer.records();
    if (written == 0 && !intact) {
      throw Error({.kind = ErrorKind::corrupted,
                   .path = inputs.paths.front(),
                   .reason = "no intact record was found",
                   .hint = "nothing was written"});
    }
    throw_if_stopped(work.stop, target.bytes);
    writer.close();
  });
  nb::list reports;
  for (size_t i = 0; i < damages.size(); ++i) {
    reports.append(damages[i].to_python(inputs.paths[i], totals[i], std::nullopt));
  }
  return nb::make_tuple(reports, written);
}

constexpr char kDecompress[] = "decompress it with recordpipe.convert(compression=\"none\")";

// Writes `indexes`, one for each of `paths`; returns the numbers of records.
std::vector<uint64_t> index(const std::vector<FilePath>& paths,
                            const std::vector<FilePath>& indexes, size_t threads,
                            const nb::object& progress) {
  const Inputs inputs = find_inputs(paths);
  require_no_input(inputs.paths, strings(indexes));
  std::vector<uint64_t> records;
  run_file_work(progress, inputs.bytes, [&](const FileWork& work) {
    for (size_t i = 0; i < paths.size(); ++i) {
      AtomicFile out(work.files, indexes[i].bytes);
      records.push_back(write_index(work, paths[i].bytes, threads, kDecompress, out));
      throw_if_stopped(work.stop, indexes[i].bytes);
      out.commit();
    }
  });
  return records;
}

// Returns for each file the number of records, or the exception that says why its index does not
// match.
nb::list check_index(const std::vector<FilePath>& paths, const std::vector<FilePath>& indexes,
                     const nb::object& progress) {
  struct Checked {
    uint64_t records = 0;
    std::optional<Error> error = {};
  };
  const Inputs inputs = find_inputs(paths);
  std::vector<Checked> files(paths.size());
  run_file_work(progress, inputs.bytes, [&](const FileWork& work) {
    for (size_t i = 0; i < paths.size(); ++i) {
      try {
        require_plain(paths[i].bytes, detect_compression(work.files, paths[i].bytes), kDecompress);
        const auto file = work.files.open_random(paths[i].bytes);
        RecordIndexReader index(open_uncounted(work, indexes[i].bytes));
        files[i].records = check_record_index(index, *file);
        work.add(file->size());
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::cancelled) throw;
        files[i].error = error;
      }
    }
  });
  nb::list results;
  for (const Checked& file : files) {
    results.append(file.error ? to_python(*file.error) : nb::object(nb::int_(file.records)));
  }
  return results;
}

nb::str stats(const std::vector<FilePath>& given, const std::vector<std::string>& features,
              const Reading& reading, const std::optional<std::string>& where,
              std::optional<uint64_t> limit, size_t threads, const nb::object& progress) {
  SurveyOptions options = survey_options(reading, where, limit, threads);
  const Inputs inputs = find_inputs(given);
  std::string json;
  run_file_work(progress, inputs.bytes, [&](const FileWork& work) {
    json = statistics_as_json(compute_statistics(
        work, inputs.paths, {features.begin(), features.end()}, std::move(options)));
  });
  return text(json);
}

}  // namespace

void define_toolkit(nb::module_& module) {
  watch_interpreter_exit();
  module.def("begin_exit", &begin_exit);
  const auto optional = nb::arg().none();
  module.def("expand_inputs", [](const std::vector<FilePath>& given) {
    return file_paths(find_inputs(given).paths);
  });
  module.def("record_index_path",
             [](const FilePath& path) { return FilePath{record_index_path(path.bytes)}; });
  module.def("info", &info, nb::arg(), nb::arg(), optional);
  module.def("verify", &verify, nb::arg(), nb::arg(), nb::arg(), optional);
  module.def("salvage", &salvage, nb::arg(), nb::arg(), nb::arg(), optional, nb::arg(), optional);
  module.def("index", &index, nb::arg(), nb::arg(), nb::arg(), optional);
  module.def("check_index", &check_index, nb::arg(), nb::arg(), optional);
  module.def("stats", &stats, nb::arg(), nb::arg(), nb::arg(), optional, optional, nb::arg(),
             optional);
}

}  // namespace recordpipe::python
