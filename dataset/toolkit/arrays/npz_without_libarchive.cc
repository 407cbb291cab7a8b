// Reading and writing of .npz files without libarchive: refused.
#include <string>

#include "recordpipe/base/error.h"
#include "recordpipe/toolkit/numpy.h"

namespace recordpipe {
namespace {

Error refusal(const std::string& path, const char* hint) {
  return Error({.kind = ErrorKind::unsupported,
                .path = path,
                .reason = "an .npz file: recordpipe was built without libarchive",
                .hint = hint});
}

constexpr const char* kReadHint =
    "unzip it, and give one .npy file; or read it with numpy.load and write its rows with "
    "recordpipe.Writer";
constexpr const char* kWriteHint =
    "export JSON or CSV; or read the records with recordpipe and write their arrays with "
    "numpy.savez";

}  // namespace

std::vector<NpzArray> read_npz(std::unique_ptr<RandomAccessFile> file, const NumpyReadOptions&) {
  throw refusal(file->path(), kReadHint);
}

std::vector<NpzArray> read_npz(std::unique_ptr<ByteSource> source, const NumpyReadOptions&) {
  throw refusal(source->path(), kReadHint);
}

struct NpzWriter::State {};

NpzWriter::NpzWriter(ByteSink& sink) { throw refusal(sink.path(), kWriteHint); }
NpzWriter::~NpzWriter() = default;
void NpzWriter::begin(const std::string&, uint64_t) {}
void NpzWriter::write(std::span<const std::byte>) {}
void NpzWriter::close() {}

}  // namespace recordpipe
