// Checks files by the manifest of the job that made them: recordpipe.verify_manifest.
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "dataset/toolkit/files/many_files.h"
#include "dataset/toolkit/jobs/shard_folder.h"
#include "dataset/toolkit/jobs/shard_record.h"
#include "python/native/interpreter/errors.h"
#include "python/native/interpreter/gil.h"
#include "python/native/module.h"
#include "python/native/toolkit/file_work.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/stop.h"

namespace recordpipe::python {
namespace {

// The lines of a manifest, as JSON.
std::vector<std::string> manifest_lines(const SharedFiles& files, const FilePath& path) {
  std::vector<ShardRecord> records;
  run_file_work(files, nb::none(), 0,
                [&](const FileWork& work) { records = read_manifest(work.files, path.bytes); });
  std::vector<std::string> lines;
  for (const ShardRecord& record : records) lines.push_back(to_json_line(record));
  return lines;
}

struct CheckedOutput {
  std::string difference = {};
  std::exception_ptr error = {};  // an Error
};

// The exception if the file can't be read; otherwise the difference.
nb::object described(const CheckedOutput& checked) {
  if (!checked.error) return text(checked.difference);
  try {
    std::rethrow_exception(checked.error);
  } catch (const PythonFileError& error) {
    return error.exception().value();
  } catch (const Error& error) {
    return to_python(error);
  }
}

// How the file at each path differs from the output that its line describes.
nb::list check_outputs(const SharedFiles& files, const std::vector<FilePath>& paths,
                       const std::vector<std::string>& lines, size_t threads,
                       const nb::object& progress) {
  std::vector<ShardRecord> expected;
  uint64_t bytes = 0;
  for (const std::string& line : lines) {
    expected.push_back(parse_shard_record(line, kManifestName, expected.size() + 1));
    bytes += expected.back().bytes;
  }
  std::vector<CheckedOutput> checked;
  run_file_work(files, progress, bytes, [&](const FileWork& work) {
    const std::vector<std::string> names = strings(paths);
    // One thread reads a file, also a large one.
    checked = results_of_files<CheckedOutput>(
        work, names, threads, turn_of_headers, [&](FileShare share) {
          const std::string& path = names[share.number];
          const auto advance = [&](uint64_t read) {
            throw_if_stopped(work.stop, path);
            work.add(read);
          };
          CheckedOutput file;
          try {
            throw_if_stopped(work.stop, path);
            const ShardRecord& output = expected[share.number];
            file.difference = difference(find_output(work.files, path, output, advance), output);
          } catch (const Error& error) {
            if (error.kind() == ErrorKind::cancelled) throw;
            file.error = std::current_exception();
          }
          return file;
        });
  });
  nb::list found;
  for (const CheckedOutput& file : checked) found.append(described(file));
  return found;
}

}  // namespace

void define_manifest(nb::module_& module) {
  module.def("manifest_lines", &manifest_lines);
  module.def("check_outputs", &check_outputs, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
             nb::arg().none());
}

}  // namespace recordpipe::python
