// Implements read_cifar_archive(): selects the known files and checks their consistency.
#include "recordpipe/cifar/archive.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <span>
#include <utility>

#include "dataset/cifar/binary_batch.h"
#include "dataset/cifar/pickle.h"
#include "dataset/cifar/tar.h"
#include "dataset/io/read_ahead.h"
#include "recordpipe/base/error.h"
#include "recordpipe/io/compression.h"

namespace recordpipe {
namespace {

inline constexpr size_t kForeignArchiveHead = 6;  // bytes that identify a foreign archive

struct Format {
  std::string_view start;  // '?' matches any byte
  std::string_view name;
  std::string_view hint;
};

constexpr std::string_view kPackAgain =
    "unpack it, and pack its folder again: tar -czf cifar.tar.gz FOLDER";

constexpr std::array<Format, 6> kFormats = {{
    {"\3757zXZ", "an xz file", "compress it again: xz -dc FILE | gzip >cifar.tar.gz"},
    {"BZh?1A", "a bzip2 file", "compress it again: bzip2 -dc FILE | gzip >cifar.tar.gz"},
    {"\x28\xB5\x2F\xFD", "a zstd file", "compress it again: zstd -dc FILE | gzip >cifar.tar.gz"},
    {"PK\x03\x04", "a zip file", kPackAgain},
    {"7z\xBC\xAF\x27\x1C", "a 7z file", kPackAgain},
    {"Rar!\x1A\x07", "a rar file", kPackAgain},
}};

bool starts_with(std::string_view text, std::string_view start) {
  return text.size() >= start.size() &&
         std::equal(start.begin(), start.end(), text.begin(),
                    [](char wanted, char found) { return wanted == '?' || wanted == found; });
}

// Throws Error{unsupported} if the archive at `path`, which begins with `head`, is an xz, bzip2,
// zstd, zip, 7z or rar file. The hint says how to convert the file.
void refuse_foreign_archive(std::span<const std::byte> head, const std::string& path) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  for (const Format& format : kFormats) {
    if (!starts_with(text, format.start)) continue;
    throw Error({.kind = ErrorKind::unsupported,
                 .path = path,
                 .reason = std::string(format.name) + ", not a .tar.gz or .tar",
                 .hint = std::string(format.hint)});
  }
}

// Class names and other small files. They are written with --keep-extracted and never parsed.
constexpr std::array<std::string_view, 6> kSideFiles = {
    "batches.meta", "batches.meta.txt",     "readme.html",
    "meta",         "fine_label_names.txt", "coarse_label_names.txt"};
constexpr size_t kMaxSideFileSize = size_t{1} << 20;

constexpr std::byte kPickleStart{0x80};  // the opcode PROTO

struct BatchPlace {
  CifarDataset dataset;
  size_t place;
};

std::optional<BatchPlace> place_of(std::string_view name) {
  if (name.ends_with(".bin")) name.remove_suffix(4);
  for (const CifarDataset dataset : {CifarDataset::cifar10, CifarDataset::cifar100}) {
    const auto& names = cifar_batch_names(dataset);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) {
      return BatchPlace{dataset, static_cast<size_t>(found - names.begin())};
    }
  }
  return std::nullopt;
}

struct SplitPath {
  std::string_view folder;
  std::string_view name;
};

// Returns std::nullopt for an absolute path and for a path that contains "..".
std::optional<SplitPath> split_path(std::string_view path) {
  while (path.starts_with("./")) path.remove_prefix(2);
  if (path.empty() || path.front() == '/') return std::nullopt;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    if (path.substr(begin, end - begin) == "..") return std::nullopt;
    begin = end + 1;
  }
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return SplitPath{"", path};
  return SplitPath{path.substr(0, slash), path.substr(slash + 1)};
}

// Reads from `source` and writes a copy of all bytes to the extracted files.
class TeeSource final : public ByteSource {
 public:
  TeeSource(ByteSource& source, ExtractedFolder& copy) : source_(source), copy_(copy) {}
  size_t read(std::span<std::byte> out) override {
    const size_t count = source_.read(out);
    copy_.write(out.first(count));
    return count;
  }
  const std::string& path() const override { return source_.path(); }

 private:
  ByteSource& source_;
  ExtractedFolder& copy_;
};

class ArchiveReader {
 public:
  ArchiveReader(ReadAhead& tar, const CifarBatchFunction& on_batch, ExtractedFolder* extracted)
      : archive_path_(tar.path()), tar_(tar), on_batch_(on_batch), extracted_(extracted) {}

  CifarArchiveKind run() {
    while (const auto member = tar_.next()) {
      const auto path = split_path(member->path);
      if (!path) continue;
      if (const auto place = place_of(path->name)) {
        take_batch(*member, *path, *place);
      } else if (extracted_ && member->regular) {
        take_side_file(*path);
      }
    }
    check_complete();
    if (extracted_) extract_side_files();
    return *kind_;
  }

 private:
  void take_batch(const TarMember& member, const SplitPath& path, const BatchPlace& place) {
    // A CIFAR-10 archive may contain a file "test", which is the name of a CIFAR-100 batch.
    if (kind_ && kind_->dataset != place.dataset) return;
    const bool may_be_stray = !kind_ && place.dataset == CifarDataset::cifar100;
    std::optional<CifarBatch> batch =
        may_be_stray ? read_unless_stray(member, path, place) : read_batch(member, path, place);
    if (batch) on_batch_(*kind_, place.place, std::move(*batch));
  }

  // Reads a "train" or "test" that precedes all other batches and may be a stray file in a CIFAR-10
  // archive. If the file is invalid, its error is thrown only when a second such file follows, or
  // if the archive has no other batches.
  std::optional<CifarBatch> read_unless_stray(const TarMember& member, const SplitPath& path,
                                              const BatchPlace& place) {
    if (stray_) std::rethrow_exception(stray_);
    try {
      return read_batch(member, path, place);
    } catch (const Error&) {  // the next read repeats an error of the archive itself
      stray_ = std::current_exception();
    }
    kind_.reset();
    if (extracted_) extracted_->forget();
    return std::nullopt;
  }

  CifarBatch read_batch(const TarMember& member, const SplitPath& path, const BatchPlace& place) {
    if (!member.regular) {
      fail(ErrorKind::corrupted, "a batch that is a link or a device, not a regular file");
    }
    const auto first = tar_.peek();
    if (!first) fail(ErrorKind::corrupted, "an empty batch");
    const CifarArchiveKind kind{place.dataset, *first != kPickleStart};
    if (!kind_) {
      kind_ = kind;
      folder_ = path.folder;
      seen_.assign(cifar_batch_names(kind.dataset).size(), false);
    }
    if (kind.binary != kind_->binary) {
      fail(ErrorKind::corrupted, "pickles and plain records in one archive");
    }
    if (path.folder != folder_) {
      fail(ErrorKind::corrupted,
           "batches in two folders, the others in '" + printable(folder_) + "'");
    }
    if (seen_[place.place]) fail(ErrorKind::corrupted, "the same batch twice");
    seen_[place.place] = true;
    return parse_batch(member.size, extracted_name(place));
  }

  CifarBatch parse_batch(uint64_t size, const std::string& name) {
    const auto parse = [&](ByteSource& source) {
      return kind_->binary ? read_cifar_binary(source, size, kind_->dataset)
                           : read_cifar_pickle(source, size, kind_->dataset);
    };
    if (!extracted_) return parse(tar_);
    extracted_->begin_file(cifar_folder_name(*kind_), name);
    TeeSource tee(tar_, *extracted_);
    return parse(tee);
  }

  std::string extracted_name(const BatchPlace& place) const {
    return std::string(cifar_batch_names(place.dataset)[place.place]) +
           (kind_->binary ? ".bin" : "");
  }

  // Keeps the content in memory, because the batch that determines the directory may follow.
  void take_side_file(const SplitPath& path) {
    const auto known = std::find(kSideFiles.begin(), kSideFiles.end(), path.name);
    if (known == kSideFiles.end()) return;
    auto& content = side_files_[static_cast<size_t>(known - kSideFiles.begin())];
    if (content) fail(ErrorKind::corrupted, "the same file twice");
    content = read_all(tar_, kMaxSideFileSize);
  }

  void extract_side_files() {
    for (size_t i = 0; i < kSideFiles.size(); ++i) {
      if (!side_files_[i]) continue;
      extracted_->begin_file(cifar_folder_name(*kind_), kSideFiles[i]);
      extracted_->write(*side_files_[i]);
    }
  }

  void check_complete() const {
    if (!kind_ && stray_) std::rethrow_exception(stray_);
    std::string missing;
    if (kind_) {
      const auto& names = cifar_batch_names(kind_->dataset);
      for (size_t i = 0; i < names.size(); ++i) {
        if (!seen_[i]) missing += (missing.empty() ? "" : ", ") + std::string(names[i]);
      }
      if (missing.empty()) return;
    }
    throw Error({.kind = ErrorKind::not_found,
                 .path = archive_path_,
                 .reason = kind_ ? "missing in the archive: " + missing
                                 : std::string("no CIFAR batches in the archive"),
                 .hint = "the published ones are at https://www.cs.toronto.edu/~kriz/cifar.html"});
  }

  [[noreturn]] void fail(ErrorKind kind, std::string reason) const {
    throw Error({.kind = kind,
                 .path = tar_.path(),
                 .reason = std::move(reason),
                 .hint = "pack the archive like the published one, or download that"});
  }

  std::string archive_path_;
  TarReader tar_;
  const CifarBatchFunction& on_batch_;
  ExtractedFolder* extracted_;
  std::optional<CifarArchiveKind> kind_;  // set by the first batch
  std::exception_ptr stray_;              // error of an invalid "train" or "test" before that batch
  std::string folder_;                    // in the archive
  std::vector<bool> seen_;
  std::array<std::optional<std::vector<std::byte>>, kSideFiles.size()> side_files_;
};

}  // namespace

const std::vector<std::string_view>& cifar_batch_names(CifarDataset dataset) {
  static const std::vector<std::string_view> kCifar10 = {
      "data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"};
  static const std::vector<std::string_view> kCifar100 = {"train", "test"};
  return dataset == CifarDataset::cifar10 ? kCifar10 : kCifar100;
}

std::string_view cifar_folder_name(const CifarArchiveKind& kind) {
  if (kind.dataset == CifarDataset::cifar10) {
    return kind.binary ? "cifar-10-batches-bin" : "cifar-10-batches-py";
  }
  return kind.binary ? "cifar-100-binary" : "cifar-100-python";
}

CifarArchiveKind read_cifar_archive(std::unique_ptr<ByteSource> archive,
                                    const CifarBatchFunction& on_batch,
                                    ExtractedFolder* extracted) {
  PeekedSource raw = peek(std::make_unique<ReadAhead>(std::move(archive)), kForeignArchiveHead);
  refuse_foreign_archive(raw.head, raw.source->path());
  const bool is_gzip = sniff_compression(raw.head) == Compression::gzip;
  ReadAhead tar(inflate(std::move(raw.source), is_gzip ? Compression::gzip : Compression::none));
  return ArchiveReader(tar, on_batch, extracted).run();
}

}  // namespace recordpipe
