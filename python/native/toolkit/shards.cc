// Parts of the work on many files, for recordpipe.map_shards: surveys that merge, jobs that resume.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "dataset/toolkit/describe/survey_state.h"
#include "dataset/toolkit/files/many_files.h"
#include "dataset/toolkit/jobs/shard_job.h"
#include "python/native/interpreter/errors.h"
#include "python/native/interpreter/gil.h"
#include "python/native/module.h"
#include "python/native/toolkit/file_work.h"
#include "python/native/toolkit/schema.h"
#include "python/native/values/python_object.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/base/stop.h"
#include "recordpipe/toolkit/feature_statistics.h"

namespace recordpipe::python {
namespace {

// The state of one file's survey, and the arguments of SkippedRegion for what was left out.
nb::tuple survey(const SharedFiles& files, const FilePath& path, const Reading& reading,
                 const std::optional<std::string>& where, std::optional<uint64_t> limit,
                 size_t threads, const nb::object& progress,
                 const std::function<std::string(const FileWork&, const std::vector<std::string>&,
                                                 SurveyOptions)>& state_of) {
  const Inputs inputs = find_inputs(files, {path});
  SurveyOptions options = survey_options(reading, where, limit, threads);
  SkippedRegions skipped;
  options.input.damaged = skipped.sink();
  std::string state;
  run_file_work(files, progress, inputs.bytes, [&](const FileWork& work) {
    state = state_of(work, inputs.paths, std::move(options));
  });
  return nb::make_tuple(bytes_of(state), skipped.to_python());
}

nb::tuple schema_part(const SharedFiles& files, const FilePath& path, const Reading& reading,
                      const std::optional<std::string>& where, std::optional<uint64_t> limit,
                      size_t threads, const nb::object& progress) {
  return survey(files, path, reading, where, limit, threads, progress, &schema_state);
}

nb::bytes statistics_part(const SharedFiles& files, const FilePath& path,
                          const FeatureNames& features, const Reading& reading,
                          const std::optional<std::string>& where, size_t threads,
                          const nb::object& progress) {
  return nb::bytes(survey(
      files, path, reading, where, std::nullopt, threads, progress,
      [&](const FileWork& work, const std::vector<std::string>& paths, SurveyOptions options) {
        return statistics_state(work, paths, features, std::move(options));
      })[0]);
}

// A job whose outputs are made elsewhere, by begin_shard() and end_shard().
class PythonShardJob {
 public:
  PythonShardJob(const SharedFiles& files, const FilePath& folder, const std::string& operation,
                 bool resume)
      : files_(files),
        folder_(*files, folder.bytes),
        hash_(shard_job_hash(operation)),
        resume_(resume) {}

  const std::string& hash() const { return hash_; }
  // For each input: the line of the manifest, if the output is kept or can't be made; otherwise
  // None: it must be made.
  std::vector<std::optional<std::string>> earlier(const std::vector<FilePath>& inputs,
                                                  const std::vector<FilePath>& outputs) const {
    using Line = std::optional<std::string>;
    constexpr TurnOf* kUnread = [](const FileWork&, const std::string&) { return FileTurn{}; };
    std::vector<Line> lines;
    run_file_work(files_, nb::none(), 0, [&](const FileWork& work) {
      lines = results_of_files<Line>(
          work, strings(inputs), 0, resume_ ? turn_of_headers : kUnread,
          [&](FileShare share) -> Line {
            const std::string& input = inputs[share.number].bytes;
            const std::string& output = outputs[share.number].bytes;
            throw_if_stopped(work.stop, input);
            const ShardRecord* const found =
                resume_ ? folder_.earlier(begin_shard(work, hash_, input, output)) : nullptr;
            if (found != nullptr) return to_json_line(*found);
            folder_.prepare(output);
            return std::nullopt;
          });
    });
    return lines;
  }
  void commit(const std::vector<std::string>& lines) {
    std::vector<ShardRecord> records;
    for (const std::string& line : lines) {
      records.push_back(parse_shard_record(line, kManifestName, records.size() + 1));
    }
    folder_.commit(records);
  }

 private:
  const SharedFiles files_;
  ShardFolder folder_;
  const std::string hash_;
  const bool resume_;
};

std::optional<Compression> wanted(const std::optional<std::string>& compression) {
  return compression ? compression_named(*compression) : std::nullopt;
}

}  // namespace

void define_shards(nb::module_& module) {
  module.def("schema_part", &schema_part, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(),
             nb::arg().none(), nb::arg(), nb::arg().none());
  nb::class_<SchemaMerge>(module, "SchemaMerge")
      .def(
          "__init__",
          [](SchemaMerge* self, const std::optional<std::string>& where) {
            new (self) SchemaMerge(where_of(where));
          },
          nb::arg().none())
      .def("add", [](SchemaMerge& self, const nb::bytes& state) { self.add(view(state)); })
      .def("finish", [](SchemaMerge& self) { return to_python(self.finish(&warn)); });

  module.def("statistics_part", &statistics_part, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg().none(), nb::arg(), nb::arg().none());
  nb::class_<StatisticsMerge>(module, "StatisticsMerge")
      .def(
          "__init__",
          [](StatisticsMerge* self, const FeatureNames& features,
             const std::optional<std::string>& where) {
            new (self) StatisticsMerge(features, where_of(where));
          },
          nb::arg(), nb::arg().none())
      .def("add", [](StatisticsMerge& self, const nb::bytes& state) { self.add(view(state)); })
      .def("finish",
           [](StatisticsMerge& self) { return text(statistics_as_json(self.finish(&warn))); });

  module.def(
      "shard_names",
      [](const std::vector<FilePath>& inputs, const std::optional<std::string>& compression,
         const std::vector<FilePath>& folders, const std::string& table) {
        return file_paths(
            shard_names(strings(inputs), wanted(compression), strings(folders), table));
      },
      nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
  module.def(
      "compression_of_shard",
      [](const SharedFiles& files, const FilePath& input,
         const std::optional<std::string>& compression, const Reading& reading) {
        return std::string(to_string(
            compression_of_shard(*files, input.bytes, wanted(compression), read_options(reading))));
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::call_guard<GilRelease>());
  nb::class_<PythonShardJob>(module, "ShardJob")
      .def("__init__",
           [](PythonShardJob* self, const SharedFiles& files, const FilePath& folder,
              const std::string& operation, bool resume) {
             const GilRelease no_gil;
             new (self) PythonShardJob(files, folder, operation, resume);
           })
      .def_prop_ro("hash", &PythonShardJob::hash)
      .def("earlier", &PythonShardJob::earlier)
      .def("commit", &PythonShardJob::commit, nb::call_guard<GilRelease>());
  // Returns a line of the manifest without counts, for end_shard().
  module.def(
      "begin_shard",
      [](const SharedFiles& files, const std::string& hash, const FilePath& input,
         const FilePath& output) {
        return to_json_line(begin_shard({.files = *files}, hash, input.bytes, output.bytes));
      },
      nb::call_guard<GilRelease>());
  // Returns the line of a failure.
  module.def(
      "failed_shard",
      [](const SharedFiles& files, const std::string& hash, const FilePath& input,
         const FilePath& output, const std::string& reason, bool is_damage) {
        ShardRecord record = {
            .job = hash, .input = without_secrets(input.bytes), .output = output.bytes};
        if (is_damage) record = begin_shard({.files = *files}, hash, input.bytes, output.bytes);
        const ErrorKind kind = is_damage ? ErrorKind::corrupted : ErrorKind::io;
        fail_shard(record, Error({.kind = kind, .reason = reason}));
        return to_json_line(record);
      },
      nb::call_guard<GilRelease>());
  module.def(
      "end_shard",
      [](const SharedFiles& files, const FilePath& folder, const std::string& line,
         const std::tuple<uint64_t, uint64_t, uint64_t, uint64_t, uint64_t>& counts) {
        ShardRecord record = parse_shard_record(line, kManifestName, 1);
        const auto [records, regions, bytes, compressed_bytes, records_skipped] = counts;
        end_shard(*files, folder.bytes, record,
                  {records, {regions, bytes, compressed_bytes}, records_skipped});
        return to_json_line(record);
      },
      nb::call_guard<GilRelease>());
}

}  // namespace recordpipe::python
