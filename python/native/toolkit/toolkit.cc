// The toolkit's functions on files, for Python: what toolkit.py, statistics.py and conversion.py
// of recordpipe/_tools make values of.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "dataset/toolkit/describe/survey.h"
#include "dataset/toolkit/files/file_facts.h"
#include "dataset/toolkit/files/file_identity.h"
#include "dataset/toolkit/files/format_names.h"
#include "dataset/toolkit/files/many_files.h"
#include "dataset/toolkit/files/salvage_ahead.h"
#include "dataset/toolkit/files/scan_file.h"
#include "dataset/toolkit/jobs/record_output.h"
#include "python/native/interpreter/errors.h"
#include "python/native/interpreter/gil.h"
#include "python/native/interpreter/interpreter_exit.h"
#include "python/native/module.h"
#include "python/native/toolkit/file_work.h"
#include "python/native/toolkit/schema.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/io/atomic_file.h"
#include "recordpipe/record/record_index.h"
#include "recordpipe/record/record_writer.h"

namespace recordpipe::python {
namespace {

nb::object error_or_none(const std::optional<Error>& error) {
  return error ? to_python(*error) : nb::object(nb::none());
}

// What is kept of each file: the distributions of sizes of thousands of files would take gigabytes.
struct KeptFacts {
  struct Sizes {
    uint64_t least = 0;
    double median = 0;
    uint64_t most = 0;
    bool is_exact = false;
  };

  explicit KeptFacts(FileFacts given) : facts(std::move(given)) {
    const Distribution all = std::exchange(facts.sizes, Distribution());
    if (all.count() == 0) return;
    sizes = {static_cast<uint64_t>(all.min()), all.quantile(0.5), static_cast<uint64_t>(all.max()),
             all.exact()};
  }

  FileFacts facts;  // without `sizes`
  std::optional<Sizes> sizes = {};
};

// (minimum, median, maximum, whether the median is exact).
nb::object sizes_of(const std::optional<KeptFacts::Sizes>& sizes) {
  if (!sizes) return nb::none();
  return nb::make_tuple(sizes->least, sizes->median, sizes->most, sizes->is_exact);
}

// The arguments of FileInfo._of() (recordpipe/_tools/reports.py).
nb::tuple facts_of(const KeptFacts& kept) {
  const FileFacts& facts = kept.facts;
  const nb::object compression =
      facts.compression ? nb::object(text(to_string(*facts.compression))) : nb::object(nb::none());
  if (!facts.was_read) {
    const nb::object none = nb::none();
    return nb::make_tuple(FilePath{facts.path}, none, facts.bytes, none, compression, none, none,
                          false, error_or_none(facts.error));
  }
  return nb::make_tuple(FilePath{facts.path}, facts.records, facts.bytes, facts.content_bytes,
                        compression, sizes_of(kept.sizes), to_python(facts.sample), facts.indexed,
                        error_or_none(facts.error));
}

// Returns a list of the files' facts, and those of all files together.
nb::tuple info(const SharedFiles& files, const std::vector<FilePath>& given, const Reading& reading,
               const nb::object& progress) {
  const Inputs inputs = find_inputs(files, given);
  std::vector<KeptFacts> found;
  FileFacts total;
  run_file_work(files, progress, inputs.bytes, [&](const FileWork& work) {
    for_each_file<FileFacts>(
        work, inputs.paths, 0, turn_of_headers,
        [&](FileShare share) {
          return find_file_facts(work, inputs.paths[share.number], read_options(reading),
                                 share.turn.status, kind_of(reading));
        },
        [&](FileFacts facts) {
          total.merge(facts);
          found.emplace_back(std::move(facts));
          return true;
        });
  });
  nb::list listed;
  for (const KeptFacts& file : found) listed.append(facts_of(file));
  return nb::make_tuple(listed, facts_of(KeptFacts(std::move(total))));
}

// The first regions of a file; their number is unlimited.
class Damage {
 public:
  static constexpr size_t kMaxRegions = 10'000;

  ScanSinks sinks() {
    return {.intact = [this](auto, uint64_t count) { records_ += count; },
            .damaged =
                [this](const DamagedRegion& region) {
                  lost_.add(region);
                  if (regions_.size() < kMaxRegions) regions_.emplace_back(region, records_);
                }};
  }

  // The arguments of FileReport._of() (recordpipe/_tools/reports.py).
  nb::tuple to_python(const std::string& path, const std::optional<ScanTotals>& totals,
                      const std::optional<Error>& error) const {
    nb::list regions;
    for (const auto& [region, records_before] : regions_) {
      regions.append(nb::make_tuple(region.begin, region.end, text(region.reason),
                                    text(region.hint), records_before));
    }
    const nb::object none = nb::none();
    if (!totals) {
      return nb::make_tuple(FilePath{path}, false, records_, regions, lost_.regions, none, none,
                            none, error_or_none(error), lost_.compressed_bytes);
    }
    return nb::make_tuple(FilePath{path}, totals->intact(), totals->records, regions, lost_.regions,
                          totals->bytes, lost_.bytes, text(to_string(totals->compression)), none,
                          lost_.compressed_bytes);
  }

 private:
  uint64_t records_ = 0;
  DamageSkipped lost_;
  std::vector<std::pair<DamagedRegion, uint64_t>> regions_;
};

nb::list verify(const SharedFiles& files, const std::vector<FilePath>& given,
                const Reading& reading, size_t threads, const nb::object& progress) {
  struct Verified {
    Damage damage = {};
    std::optional<ScanTotals> totals = {};
    std::optional<Error> error = {};
  };
  const Inputs inputs = find_inputs(files, given);
  std::vector<Verified> verified;
  run_file_work(files, progress, inputs.bytes, [&](const FileWork& work) {
    verified = results_of_files<Verified>(
        work, inputs.paths, threads, turn_of_content, [&](FileShare share) {
          Verified file;
          try {
            file.totals = scan_file(work, inputs.paths[share.number], read_options(reading),
                                    share.threads, file.damage.sinks(), share.turn.status);
          } catch (const Error& error) {
            if (error.kind() == ErrorKind::cancelled) throw;
            file.error = error;
          }
          return file;
        });
  });
  nb::list reports;
  for (size_t i = 0; i < verified.size(); ++i) {
    const Verified& file = verified[i];
    reports.append(file.damage.to_python(inputs.paths[i], file.totals, file.error));
  }
  return reports;
}

// Returns (reports of the inputs, number of records written).
nb::tuple salvage(const SharedFiles& files, const std::vector<FilePath>& given,
                  const FilePath& target, const Reading& reading,
                  const std::optional<std::string>& compression, size_t threads,
                  const nb::object& progress) {
  std::optional<Compression> wanted;
  if (compression) wanted = compression_named(*compression);
  const Inputs inputs = find_inputs(files, given);
  require_no_input(files, inputs.paths, {target.bytes});
  std::vector<Damage> damages(inputs.paths.size());
  std::vector<std::optional<ScanTotals>> totals(inputs.paths.size());
  uint64_t written = 0;
  run_file_work(files, progress, inputs.bytes, [&](const FileWork& work) {
    RecordWriter writer(work.files, target.bytes,
                        {.compression = compression_for(target.bytes, wanted)});
    SalvageAhead scans(work, inputs.paths, read_options(reading), threads);
    for (size_t i = 0; i < damages.size(); ++i) {
      totals[i] = scans.next(damages[i].sinks(), writer);
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
std::vector<uint64_t> index(const SharedFiles& files, const std::vector<FilePath>& paths,
                            const std::vector<FilePath>& indexes, size_t threads,
                            const nb::object& progress) {
  for (const FilePath& index : indexes) require_name_of_export(index.bytes, "idx");
  const Inputs inputs = find_inputs(files, paths);
  require_no_input(files, inputs.paths, strings(indexes));
  std::vector<uint64_t> records;
  run_file_work(files, progress, inputs.bytes, [&](const FileWork& work) {
    records = results_of_files<uint64_t>(
        work, inputs.paths, threads, turn_of_content, [&](FileShare share) {
          const std::string& index = indexes[share.number].bytes;
          AtomicFile out(work.files, index, Durability::cached);
          const uint64_t count = write_index(work, inputs.paths[share.number], share.threads,
                                             kDecompress, out, share.turn.status);
          throw_if_stopped(work.stop, index);
          out.commit();
          return count;
        });
  });
  return records;
}

// Returns for each file the number of records, or the exception that says why its index does not
// match.
nb::list check_index(const SharedFiles& files, const std::vector<FilePath>& paths,
                     const std::vector<FilePath>& indexes, const nb::object& progress) {
  struct Checked {
    uint64_t records = 0;
    std::optional<Error> error = {};
  };
  const Inputs inputs = find_inputs(files, paths);
  std::vector<Checked> checked;
  run_file_work(files, progress, inputs.bytes, [&](const FileWork& work) {
    checked = results_of_files<Checked>(
        work, inputs.paths, 0, turn_of_headers, [&](FileShare share) -> Checked {
          const std::string& path = inputs.paths[share.number];
          try {
            throw_if_stopped(work.stop, path);
            require_plain(path, detect_compression(work.files, path), kDecompress);
            const auto file = work.files.open_random(path);
            RecordIndexReader index(open_uncounted(work, indexes[share.number].bytes));
            const uint64_t records = check_record_index(index, *file);
            work.add(file->size());
            return {.records = records};
          } catch (const Error& error) {
            if (error.kind() == ErrorKind::cancelled) throw;
            return {.error = error};
          }
        });
  });
  nb::list results;
  for (const Checked& file : checked) {
    results.append(file.error ? to_python(*file.error) : nb::object(nb::int_(file.records)));
  }
  return results;
}

nb::str stats(const SharedFiles& files, const std::vector<FilePath>& given,
              const FeatureNames& features, const Reading& reading,
              const std::optional<std::string>& where, std::optional<uint64_t> limit,
              size_t threads, const nb::object& progress) {
  SurveyOptions options = survey_options(reading, where, limit, threads);
  const Inputs inputs = find_inputs(files, given);
  std::string json;
  run_file_work(files, progress, inputs.bytes, [&](const FileWork& work) {
    json = statistics_as_json(compute_statistics(work, inputs.paths, features, std::move(options)));
  });
  return text(json);
}

}  // namespace

void define_toolkit(nb::module_& module) {
  watch_interpreter_exit();
  module.def("begin_exit", &begin_exit);
  const auto optional = nb::arg().none();
  // Returns (paths, sizes, folders).
  module.def("find_inputs", [](const SharedFiles& files, const std::vector<FilePath>& given,
                               bool recursive) {
    const Inputs inputs = find_inputs(files, given, recursive);
    return nb::make_tuple(file_paths(inputs.paths), inputs.sizes, file_paths(inputs.folders));
  });
  module.def("record_index_path",
             [](const FilePath& path) { return FilePath{record_index_path(path.bytes)}; });
  module.def("info", &info, nb::arg(), nb::arg(), nb::arg(), optional);
  module.def("verify", &verify, nb::arg(), nb::arg(), nb::arg(), nb::arg(), optional);
  module.def("salvage", &salvage, nb::arg(), nb::arg(), nb::arg(), nb::arg(), optional, nb::arg(),
             optional);
  module.def("index", &index, nb::arg(), nb::arg(), nb::arg(), nb::arg(), optional);
  module.def("check_index", &check_index, nb::arg(), nb::arg(), nb::arg(), optional);
  module.def("stats", &stats, nb::arg(), nb::arg(), nb::arg(), nb::arg(), optional, optional,
             nb::arg(), optional);
}

}  // namespace recordpipe::python
