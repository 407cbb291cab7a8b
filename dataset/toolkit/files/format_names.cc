#include "dataset/toolkit/files/format_names.h"

#include <algorithm>
#include <iterator>

#include "dataset/base/lower_case.h"
#include "dataset/toolkit/files/file_name.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

struct FormatName {
  std::string_view endings;
  std::string_view name;  // in words
  std::string_view written_by = {};
  std::string_view format = {};  // of require_name_of_export()
};

constexpr std::string_view kExport = "tfrecord export";
constexpr std::string_view kView = "tfrecord view";
constexpr std::string_view kIndex = "tfrecord index";
constexpr std::string_view kCompression = "compressions of TFRecords are NAME.gz, .zlib and .zst";

constexpr FormatName kFormatNames[] = {{".json", "JSON", kExport, "json"},
                                       {".jsonl .ndjson", "JSON lines", kExport, "json"},
                                       {".csv", "CSV", kExport, "csv"},
                                       {".tsv", "CSV with tabs", kExport, "tsv"},
                                       {".npz", "NumPy arrays", kExport, "npz"},
                                       {".npy", "a NumPy array"},
                                       {".tar", "a tar archive", kExport, "webdataset"},
                                       {".tgz", "a tar archive", kExport},
                                       {".parquet .pq", "Parquet", kExport, "parquet"},
                                       {".arrow .feather .ipc", "Arrow", kExport, "arrow"},
                                       {".h5 .hdf5", "HDF5"},
                                       {".avro", "Avro"},
                                       {".orc", "ORC"},
                                       {".mat", "MATLAB arrays"},
                                       {".lmdb .mdb", "an LMDB database"},
                                       {".sqlite", "an SQLite database"},
                                       {".arrayrecord .array_record", "ArrayRecord"},
                                       {".riegeli", "Riegeli records"},
                                       {".safetensors", "safetensors"},
                                       {".pt .pth", "PyTorch tensors"},
                                       {".pkl .pickle", "a pickle"},
                                       {".libsvm .svm", "LibSVM"},
                                       {".msgpack", "MessagePack"},
                                       {".pb", "a message of Protocol Buffers"},
                                       {".txt .md", "text", {}, "text"},
                                       {".py", "Python code", {}, "text"},
                                       {".html .htm", "a web page", kView, "html"},
                                       {".idx", "an index", kIndex, "idx"},
                                       {".xml", "XML"},
                                       {".yaml .yml", "YAML"},
                                       {".pdf", "PDF"},
                                       {".xlsx", "a spreadsheet"},
                                       {".png .jpg .jpeg .gif .webp .bmp .tif .tiff", "an image"},
                                       {".mp4", "a video"},
                                       {".wav", "a sound"},
                                       {".zip", "a zip archive"},
                                       {".7z", "a 7-Zip archive"},
                                       {".rar", "a RAR archive"},
                                       {".bz2", "bzip2", kCompression},
                                       {".xz", "xz", kCompression},
                                       {".lzma", "LZMA", kCompression},
                                       {".z", "compress", kCompression},
                                       {".lz4", "LZ4", kCompression},
                                       {".br", "Brotli", kCompression},
                                       {".snappy .sz", "Snappy", kCompression}};

// Null if the name promises none of the formats.
const FormatName* find_format(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == name.npos) return nullptr;
  const std::string ending = " " + std::string(name.substr(dot)) + " ";
  const auto has_ending = [&](const FormatName& format) {
    return (" " + std::string(format.endings) + " ").find(ending) != std::string::npos;
  };
  const auto* const found = std::ranges::find_if(kFormatNames, has_ending);
  return found == std::end(kFormatNames) ? nullptr : found;
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
    hint = std::string(found->written_by) + " writes " + std::string(found->name);
  }
  throw another_format(path, found->name, "TFRecords", std::move(hint));
}

void require_name_of_export(std::string_view path, std::string_view format) {
  const std::string name = lower_case(path);
  const std::string_view written = format == "idx" ? "an index" : format;
  if (format == "images") return;  // a folder
  if (compression_extension(name) > 0) {
    throw another_format(path, "a compressed file", "uncompressed data",
                         "write it to standard output with -o -, and compress that");
  }
  for (const std::string_view records : {".tfrecord", ".tfrecords"}) {
    if (name.ends_with(records)) {
      throw another_format(path, "TFRecords", written, "tfrecord convert writes TFRecords");
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
  if (!found->format.empty() && !found->written_by.empty()) {
    hint = std::string(found->written_by) + " writes it; or give another name";
  }
  throw another_format(path, found->name, written, std::move(hint));
}

}  // namespace recordpipe
