// Operations of the toolkit on files, called from Python.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>

#include "dataset/toolkit/describe/survey.h"
#include "dataset/toolkit/files/file_work.h"
#include "python/native/files/file_path.h"
#include "python/native/files/python_file_system.h"
#include "recordpipe/example/message_view.h"
#include "recordpipe/io/compression.h"
#include "recordpipe/record/damaged_region.h"
#include "recordpipe/record/record_reader.h"

namespace recordpipe::python {

namespace nb = nanobind;

struct Inputs {
  std::vector<std::string> paths = {};
  std::vector<uint64_t> sizes = {};       // as they are stored
  uint64_t bytes = 0;                     // of all files
  std::vector<std::string> folders = {};  // FilesAndFolders
};

// Finds the files (input_files.h). Throws Error{not_found} for a missing file, and
// Error{unsupported} for a pipe or a device, so that no operation begins with inputs that it can't
// read. Needs the GIL, which it releases.
Inputs find_inputs(const SharedFiles& files, const std::vector<FilePath>& given,
                   bool recursive = false);
// Throws Error{not_found} as find_inputs(), with the nearest name in the folder, if a path on this
// machine is missing.
void require_local(FileSystem& files, const std::string& path);
// Warns (UserWarning) with a text that isn't empty, at the line that calls the package. Needs the
// GIL.
void warn(const std::string& text);
// Throws Error{invalid_argument} if an output is one of the inputs.
void require_no_input(const SharedFiles& files, const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs);

// Runs `operation`, with these files, on a thread of its own, without the GIL, and throws its
// exception. Meanwhile, the caller's thread calls progress(bytes read, `total`), unless `progress`
// is None: at most ten times a second, and at the end. An exception of `progress` or of a signal
// handler (Ctrl-C) stops the operation and is thrown once the operation has ended. Notes of the
// operation become Python's UserWarning. Needs the GIL.
void run_file_work(const SharedFiles& files, const nb::object& progress, uint64_t total,
                   const std::function<void(const FileWork&)>& operation);

// `compression`: "" finds it out.
RecordReadOptions read_options(bool check_crc, const std::string& compression);
// "raise", "skip_file" or "resync".
OnDamage on_damage_of(std::string_view name);
// What errors of damaged records recommend.
inline constexpr char kOnDamageRemedy[] = "pass on_damage=\"skip_file\" or \"resync\" to go on";
// How files are read, from Python: compression, check_crc, max_record_size, kind, on_damage.
using Reading = std::tuple<std::string, bool, uint64_t, std::string, std::string>;
RecordReadOptions read_options(const Reading& reading);
InputReading input_reading(const Reading& reading);  // without paths
std::optional<MessageKind> kind_of(const Reading& reading);

// Counts the regions that on_damage leaves out, and keeps the first of them.
class SkippedRegions {
 public:
  DamageSink sink();
  const DamageSkipped& counts() const { return counts_; }
  // The arguments of SkippedRegion (recordpipe/_tools/conversion_reports.py). Needs the GIL.
  nb::list to_python() const;

 private:
  DamageSkipped counts_;
  std::vector<std::pair<std::string, DamagedRegion>> first_;
};

std::optional<Where> where_of(const std::optional<std::string>& where);
SurveyOptions survey_options(const Reading& reading, const std::optional<std::string>& where,
                             std::optional<uint64_t> limit, size_t threads);

// UTF-8 as a str. (Paths: file_path.h.)
nb::str text(std::string_view bytes);

}  // namespace recordpipe::python
