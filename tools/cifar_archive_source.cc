#include "tools/cifar_archive_source.h"

#include <algorithm>
#include <string_view>

#include "recordpipe/base/error.h"
#include "recordpipe/cifar/archive.h"
#include "recordpipe/cifar/synthetic.h"
#include "recordpipe/http/download.h"
#include "recordpipe/io/atomic_file.h"

namespace recordpipe {
namespace {

constexpr std::string_view kNoChecksum = "none";
constexpr std::string_view kSyntheticName = "cifar-10-python-synthetic.tar.gz";

// Returns the checksum that the command line requires.
std::optional<std::string> wanted_sha256(const CifarArchiveRequest& request) {
  if (request.sha256.empty() || request.sha256 == kNoChecksum) return std::nullopt;
  return request.sha256;
}

CifarArchiveSource use_file(const std::string& path, const CifarArchiveRequest& request) {
  return {.path = path,
          .sha256 = wanted_sha256(request),
          .hash = request.sha256 != kNoChecksum,
          .synthetic = path.ends_with(kSyntheticName)};
}

const PublishedArchive* find_published(std::string_view url) {
  const auto found = std::ranges::find(kPublishedArchives, url, &PublishedArchive::url);
  return found == kPublishedArchives.end() ? nullptr : &*found;
}

// Returns the last part of the URL's path. This part becomes a file name, so only ordinary
// characters are accepted.
std::string file_name_of(std::string_view url) {
  url.remove_prefix(url.find("://") + 3);  // HttpUrl accepted the URL
  const std::string_view path = url.substr(0, url.find_first_of("?#"));
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == path.npos ? "" : path.substr(slash + 1);
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  });
  if (name.empty() || name.front() == '.' || !plain) {
    throw Error({.kind = ErrorKind::invalid_argument,
                 .path = std::string(name),
                 .reason = "the URL doesn't end in a plain file name",
                 .hint = "download it yourself and name it with --archive"});
  }
  return std::string(name);
}

CifarArchiveSource draw(FileSystem& files, const std::string& data_dir,
                        const CifarArchiveRequest& request, TerminalProgress& progress,
                        std::stop_token stop) {
  const std::string path = data_dir + "/" + std::string(kSyntheticName);
  write_synthetic_cifar(files, path,
                        {.seed = request.synthetic_seed,
                         .progress = [&](const Progress& at) { progress.update(at); },
                         .stop = stop});
  return {.path = path, .synthetic = true};
}

CifarArchiveSource fetch(FileSystem& files, const std::string& url, const std::string& path,
                         const CifarArchiveRequest& request, TerminalProgress& progress,
                         std::stop_token stop) {
  DownloadOptions options{
      .sha256 = wanted_sha256(request),
      .progress = [&](const Progress& at) { progress.update(at); },
      .notice = [&](std::string_view text) { progress.note(std::string(text)); }};
  options.http.stop = stop;
  const PublishedArchive* published = find_published(url);
  if (published && request.sha256.empty()) {
    options.sha256 = published->sha256;
    options.max_bytes = published->bytes;
  }
  progress.note("downloading " + printable(path));
  const DownloadReport report = download(files, url, path, options);
  if (!options.sha256 && request.sha256 != kNoChecksum) {
    note_unknown_checksum(path, report.sha256, progress);
  }
  return {.path = path, .downloaded = true};  // already verified, if required
}

struct Download {
  std::string url;
  std::string path;
};

// Returns the archive to download into the data folder: the requested one, or a published one,
// preferably one that is already there.
Download wanted_download(FileSystem& files, const std::string& data_dir,
                         const CifarArchiveRequest& request) {
  const auto to_data_dir = [&](std::string_view url) -> Download {
    return {std::string(url), data_dir + "/" + file_name_of(url)};
  };
  if (!request.url.empty()) return to_data_dir(request.url);
  for (const PublishedArchive& published : std::span(kPublishedArchives).first<2>()) {
    const Download wanted = to_data_dir(published.url);
    if (regular_file_size(files, wanted.path)) return wanted;
  }
  return to_data_dir(kPublishedArchives.front().url);
}

}  // namespace

CifarArchiveSource obtain_cifar_archive(FileSystem& files, const std::string& data_dir,
                                        const CifarArchiveRequest& request,
                                        TerminalProgress& progress, std::stop_token stop) {
  remove_abandoned_partials(files, data_dir,
                            [](std::string_view name) { return name == kSyntheticName; });
  if (!request.archive.empty()) return use_file(request.archive, request);
  if (request.synthetic) {
    CifarArchiveSource drawn = draw(files, data_dir, request, progress, stop);
    drawn.sha256 = wanted_sha256(request);
    return drawn;
  }

  const auto [url, path] = wanted_download(files, data_dir, request);
  if (regular_file_size(files, path)) {
    if (!request.url.empty()) {
      progress.note(printable(path) + ": is there already, not downloaded again");
    }
    CifarArchiveSource found = use_file(path, request);
    found.downloaded = true;
    return found;
  }
  try {
    return fetch(files, url, path, request, progress, stop);
  } catch (const Error& error) {
    // A full disk, a wrong checksum or a rejection by the server needs the user's attention.
    if (error.kind() != ErrorKind::network) throw;
    if (!request.synthetic_fallback) {
      progress.note(
          "without the network: --archive FILE takes one you have, --synthetic draws one");
      throw;
    }
    progress.warn(printable(error.path()) + " can't be reached (" + error.reason() +
                  "): going on with synthetic images" +
                  (request.synthetic_is_there ? ", those that are there" : ""));
    if (request.synthetic_is_there) return {.synthetic = true};
  }
  return draw(files, data_dir, request, progress, stop);
}

void note_unknown_checksum(const std::string& path, const std::string& sha256,
                           TerminalProgress& progress) {
  const auto found = std::ranges::find(kPublishedArchives, sha256, &PublishedArchive::sha256);
  if (found != kPublishedArchives.end()) return;
  progress.note(printable(path) + ": not one of the published archives: its SHA-256 is " + sha256 +
                " (with --sha256 HASH, only an archive of that checksum is accepted)");
}

}  // namespace recordpipe
