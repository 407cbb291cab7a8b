#include "dataset/record/other_format.h"

#include <string_view>

namespace recordpipe {
namespace {

using namespace std::string_view_literals;

struct OtherFormat {
  size_t offset;
  std::string_view magic;
  std::string_view hint;
};

constexpr std::string_view kImage =
    "this is an image, not a file of records: tfrecord create makes records of a folder of images";

constexpr std::string_view kPickle =
    "this is a pickle of Python: pickle.load reads it, and runs code in it: only if you trust its "
    "source";

constexpr OtherFormat kFormats[] = {
    {0, "version https://git-lfs"sv, "this is a Git LFS pointer, not the file: run git lfs pull"},
    {0, "PAR1"sv, "this is a Parquet file: tfrecord create makes records of it"},
    {0, "ARROW1"sv, "this is an Arrow file: tfrecord create makes records of it"},
    {0, "FEA1"sv, "this is a Feather file of version 1: read it with pyarrow.feather"},
    {0, "\x1f\x9d"sv, "this is compressed with compress (.Z): decompress it with uncompress"},
    {0, "\x89HDF\r\n\x1a\n"sv, "this is an HDF5 file: read it with h5py"},
    // The first 24 bytes of a file of Riegeli records, in which ArrayRecord is written.
    {0, "\x83\xaf\x70\xd1\x0d\x88\x4a\x3f\0\0\0\0\0\0\0\0\x40\0\0\0\0\0\0\0"sv,
     "this is an ArrayRecord or Riegeli file: read it with the Python package array_record"},
    {0, "PK\x03\x04"sv,
     "this is a zip archive: unzip it (if it is an .npz file, tfrecord create reads it)"},
    {0, "PK\x05\x06"sv, "this is an empty zip archive"},
    {257, "ustar"sv,
     "this is a tar archive: extract it (if it is a WebDataset, tfrecord create reads it)"},
    {0, "\x93NUMPY"sv, "this is a NumPy array: tfrecord create reads it"},
    {16, "\xde\xc0\xef\xbe"sv, "this is an LMDB database: read it with the Python package lmdb"},
    {0, "SQLite format 3"sv, "this is an SQLite database: read it with sqlite3"},
    {0, "ORC"sv, "this is an ORC file: read it with pyarrow.orc"},
    {0, "Obj\x01"sv, "this is an Avro file: read it with the Python package fastavro"},
    {0, "SEQ\x06"sv, "this is a SequenceFile of Hadoop: read it with Hadoop or Spark"},
    {0, "\x0a\x23\xd7\xce"sv, "this is a RecordIO file of MXNet: read it with mxnet.recordio"},
    {0, "MATLAB 5.0 MAT-file"sv, "this is a MATLAB file: read it with scipy.io.loadmat"},
    {0, "\x80\x04\x95"sv, kPickle},
    {0, "\x80\x05\x95"sv, kPickle},
    {0, "%PDF-"sv, "this is a PDF document"},
    {0, "7z\xbc\xaf\x27\x1c"sv, "this is a 7-Zip archive: extract it"},
    {0, "Rar!\x1a\x07"sv, "this is a RAR archive: extract it"},
    {0, "\x02\x21\x4c\x18"sv, "this is LZ4's legacy format: decompress it with lz4 -d"},
    // With the dictionary of xz's default level, and a size that is not stored.
    {0, "\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff"sv,
     "this is compressed with LZMA: decompress it with xz -d"},
    {0, "GIF8"sv, kImage},
    {8, "WEBPVP8"sv, kImage},
    {0, "\x89PNG\r\n\x1a\n"sv, kImage},
    {0, "\xff\xd8\xff"sv, kImage},
};

// The mark of a message, its size, and the root of a Flatbuffer.
bool is_arrow_stream(std::string_view bytes) {
  return bytes.starts_with("\xff\xff\xff\xff") && bytes.size() >= 12 &&
         bytes.substr(6, 2) == "\0\0"sv && bytes.substr(8, 4) == "\x10\0\0\0"sv;
}

// "0 3126\n": the first record of an index (record_index.h).
bool is_index(std::string_view bytes) {
  if (!bytes.starts_with("0 ")) return false;
  const size_t end = bytes.find_first_not_of("0123456789", 2);
  return end > 2 && end != bytes.npos && bytes[end] == '\n';
}

}  // namespace

std::string hint_for_other_format(std::span<const std::byte> start) {
  const std::string_view bytes(reinterpret_cast<const char*>(start.data()), start.size());
  if (is_arrow_stream(bytes)) {
    return "this is a stream of Arrow: read it with pyarrow.ipc.open_stream";
  }
  if (is_index(bytes)) return "this is the index of a file of records: give that file";
  for (const OtherFormat& format : kFormats) {
    if (format.offset >= bytes.size()) continue;
    if (bytes.substr(format.offset).starts_with(format.magic)) return std::string(format.hint);
  }
  return {};
}

}  // namespace recordpipe
