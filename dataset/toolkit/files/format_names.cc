#include "dataset/toolkit/files/format_names.h"

#include <algorithm>
#include <array>

#include "dataset/base/lower_case.h"
#include "dataset/toolkit/files/file_name.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

struct FormatName {
  std::string_view ending;
  std::string_view name;  // in words
  std::string_view written_by;
  std::string_view format = {};  // of require_name_of_export()
};

constexpr std::string_view kExport = "tfrecord export";
constexpr std::string_view kTables = "recordpipe.convert() and write_table() in Python";
constexpr std::string_view kView = "tfrecord view";
constexpr std::string_view kIndex = "tfrecord index";
constexpr std::string_view kCompression = "compressions of TFRecords are NAME.gz, .zlib and .zst";

constexpr std::array kFormatNames = {FormatName{".json", "JSON", kExport, "json"},
                                     FormatName{".jsonl", "JSON lines", kExport, "json"},
                                     FormatName{".ndjson", "JSON lines", kExport, "json"},
                                     FormatName{".csv", "CSV", kExport, "csv"},
                                     FormatName{".tsv", "CSV with tabs", kExport, "tsv"},
                                     FormatName{".npz", "NumPy arrays", kExport, "npz"},
                                     FormatName{".npy", "a NumPy array", {}},
                                     FormatName{".tar", "a tar archive", kExport, "webdataset"},
                                     FormatName{".tgz", "a tar archive", kExport},
                                     FormatName{".parquet", "Parquet", kTables},
                                     FormatName{".pq", "Parquet", kTables},
                                     FormatName{".arrow", "Arrow", kTables},
                                     FormatName{".feather", "Arrow", kTables},
                                     FormatName{".ipc", "Arrow", kTables},
                                     FormatName{".h5", "HDF5", {}},
                                     FormatName{".hdf5", "HDF5", {}},
                                     FormatName{".avro", "Avro", {}},
                                     FormatName{".orc", "ORC", {}},
                                     FormatName{".mat", "MATLAB arrays", {}},
                                     FormatName{".lmdb", "an LMDB database", {}},
                                     FormatName{".mdb", "an LMDB database", {}},
                                     FormatName{".sqlite", "an SQLite database", {}},
                                     FormatName{".arrayrecord", "ArrayRecord", {}},
                                     FormatName{".array_record", "ArrayRecord", {}},
                                     FormatName{".riegeli", "Riegeli records", {}},
                                     FormatName{".safetensors", "safetensors", {}},
                                     FormatName{".pt", "PyTorch tensors", {}},
                                     FormatName{".pth", "PyTorch tensors", {}},
                                     FormatName{".pkl", "a pickle", {}},
                                     FormatName{".pickle", "a pickle", {}},
                                     FormatName{".libsvm", "LibSVM", {}},
                                     FormatName{".svm", "LibSVM", {}},
                                     FormatName{".msgpack", "MessagePack", {}},
                                     FormatName{".txt", "text", {}, "text"},
                                     FormatName{".md", "text", {}, "text"},
                                     FormatName{".py", "Python code", {}, "text"},
                                     FormatName{".html", "a web page", kView, "html"},
                                     FormatName{".htm", "a web page", kView, "html"},
                                     FormatName{".idx", "an index", kIndex, "idx"},
                                     FormatName{".xml", "XML", {}},
                                     FormatName{".yaml", "YAML", {}},
                                     FormatName{".yml", "YAML", {}},
                                     FormatName{".pdf", "PDF", {}},
                                     FormatName{".xlsx", "a spreadsheet", {}},
                                     FormatName{".png", "an image", {}},
                                     FormatName{".jpg", "an image", {}},
                                     FormatName{".jpeg", "an image", {}},
                                     FormatName{".gif", "an image", {}},
                                     FormatName{".webp", "an image", {}},
                                     FormatName{".bmp", "an image", {}},
                                     FormatName{".tif", "an image", {}},
                                     FormatName{".tiff", "an image", {}},
                                     FormatName{".mp4", "a video", {}},
                                     FormatName{".wav", "a sound", {}},
                                     FormatName{".zip", "a zip archive", {}},
                                     FormatName{".7z", "a 7-Zip archive", {}},
                                     FormatName{".rar", "a RAR archive", {}},
                                     FormatName{".bz2", "bzip2", kCompression},
                                     FormatName{".xz", "xz", kCompression},
                                     FormatName{".lzma", "LZMA", kCompression},
                                     FormatName{".lz4", "LZ4", kCompression},
                                     FormatName{".br", "Brotli", kCompression},
                                     FormatName{".snappy", "Snappy", kCompression},
                                     FormatName{".sz", "Snappy", kCompression}};

// Null if the name promises none of the formats.
const FormatName* find_format(std::string_view name) {
  for (const FormatName& format : kFormatNames) {
    if (name.ends_with(format.ending)) return &format;
  }
  return nullptr;
}

Error another_format(std::string_view path, std::string_view named, std::string_view written,
                     std::string hint) {
  return Error({.kind = ErrorKind::invalid_argument,
                .path = std::string(path),
                .reason = "this is the name of " + std::string(named) + ", and " +
                          std::string(written) + " would be written",
                .hint = std::move(hint)});
}

}  // namespace

void require_name_of_records(std::string_view path) {
  std::string name = lower_case(path);
  name.resize(name.size() - compression_extension(name));
  const FormatName* const found = find_format(name);
  if (found == nullptr) return;
  std::string hint = "give the TFRecords another name";
  if (found->written_by == kCompression)
    hint = kCompression;
  else if (!found->written_by.empty()) {
    hint = std::string(found->written_by) +
           (found->written_by == kTables ? " write " : " writes ") + std::string(found->name);
  }
  throw another_format(path, found->name, "TFRecords", std::move(hint));
}

void require_name_of_export(std::string_view path, std::string_view format) {
  const std::string name = lower_case(path);
  if (format == "images") return;  // a folder
  if (compression_extension(name) > 0) {
    throw another_format(path, "a compressed file", "uncompressed data",
                         "write it to standard output with -o -, and compress that");
  }
  for (const std::string_view records : {".tfrecord", ".tfrecords"}) {
    if (name.ends_with(records)) {
      throw another_format(path, "TFRecords", format, "tfrecord convert writes TFRecords");
    }
  }
  const FormatName* const found = find_format(name);
  const bool is_csv =
      format == "csv" || format == "tsv" || format == "scalars";  // with any delimiter
  if (found == nullptr || found->format == format) return;
  if (is_csv && (found->format == "csv" || found->format == "tsv")) return;
  const bool is_text = is_csv || format == "json" || format == "idx";
  if (is_text && found->format == "text") return;
  std::string hint = "give another name";
  if (found->written_by == kTables) {
    hint = std::string(kTables) + " write it";
  } else if (!found->format.empty() && !found->written_by.empty()) {
    hint = std::string(found->written_by) + " writes it; or give another name";
  }
  throw another_format(path, found->name, format == "idx" ? "an index" : format, std::move(hint));
}

}  // namespace recordpipe
