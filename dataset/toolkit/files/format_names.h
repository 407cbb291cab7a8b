// The formats that the names of files promise: a result never gets the name of another format.
#pragma once

#include <string_view>

namespace recordpipe {

// Throws Error{invalid_argument}, with what writes this format, if TFRecords can't have this name:
// it ends in .csv, .parquet, .bz2 or that of another format, in upper or lower case, possibly
// before the extension of a compression.
void require_name_of_records(std::string_view path);

// Throws Error{invalid_argument} if `format` ("json", "csv", "tsv", "scalars", "npz", "images",
// "webdataset", "parquet", "arrow", "text", "html" or "idx", an index) is written, and the name is
// that of another format, of TFRecords or of a compression.
void require_name_of_export(std::string_view path, std::string_view format);

}  // namespace recordpipe
