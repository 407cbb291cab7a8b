// The file systems of Python: of an object that reads and writes files (recordpipe/filesystem.py),
// and of URLs.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <nanobind/nanobind.h>

#include "recordpipe/io/file.h"

namespace recordpipe::python {

namespace nb = nanobind;

// What functions of this module take to find, read and write files: never null.
struct SharedFiles {
  std::shared_ptr<FileSystem> shared;

  FileSystem& operator*() const { return *shared; }
};

// URLs of files of this machine.
inline constexpr std::string_view kFileUrl = "file://";

// For functions that read files of this machine only.
SharedFiles files_of_this_machine();

// The files of a Python object, and those of this machine at file:// URLs. Needs the GIL.
SharedFiles files_of_object(const nb::object& file_system);
// The files of this machine and of URLs. `ca_file`: a file of trusted certificates, or "": those of
// the system.
SharedFiles files_of_urls(const std::string& ca_file);

}  // namespace recordpipe::python
