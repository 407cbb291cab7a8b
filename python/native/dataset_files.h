// The files that a Dataset reads.
#pragma once

#include <string>
#include <vector>

#include "python/native/dataset.h"
#include "python/native/file_path.h"
#include "python/native/python_file_system.h"

namespace recordpipe::python {

// Throws Error{invalid_argument} if one of the outputs, on `files`, is one of the files of the
// Dataset's sources. (What functions read, and the Datasets that they return, is unknown.) Needs
// the GIL, which it releases.
void require_not_read(const PythonDataset& dataset, const SharedFiles& files,
                      const std::vector<FilePath>& outputs);

}  // namespace recordpipe::python
