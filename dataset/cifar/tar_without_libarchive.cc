// Tar archives without libarchive: refused.
#include "dataset/cifar/tar.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

Error refusal(const std::string& path) {
  return Error({.kind = ErrorKind::unsupported,
                .path = path,
                .reason = "a tar archive: recordpipe was built without libarchive",
                .hint = "build it with libarchive (package libarchive-dev)"});
}

}  // namespace

struct TarReader::State {
  std::string path;
};

TarReader::TarReader(ReadAhead& tar, const TarLimits&) { throw refusal(tar.path()); }
TarReader::~TarReader() = default;
std::optional<TarMember> TarReader::next() { return std::nullopt; }
size_t TarReader::read(std::span<std::byte>) { return 0; }
std::optional<std::byte> TarReader::peek() { return std::nullopt; }
const std::string& TarReader::path() const { return state_->path; }

struct TarWriter::State {};

TarWriter::TarWriter(ByteSink& sink) { throw refusal(sink.path()); }
TarWriter::~TarWriter() = default;
void TarWriter::add_folder(const std::string&) {}
void TarWriter::add_file(const std::string&, std::span<const std::byte>) {}
void TarWriter::close() {}

}  // namespace recordpipe
