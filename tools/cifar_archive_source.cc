#include "tools/cifar_archive_source.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "dataset/base/error.h"
#include "dataset/cifar/published.h"
#include "dataset/cifar/synthetic.h"
#include "dataset/io/atomic_file.h"
#include "dataset/io/http_download.h"

namespace recordpipe {
namespace {

constexpr std::string_view kNoChecksum = "none";
constexpr std::string_view kSyntheticName = "cifar-10-python-synthetic.tar.gz";

// What the command line says the archive must be.
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

// The last part of the URL's path. It becomes a file's name, so it may hold nothing but what such
// names are made of.
std::string file_name_of(std::string_view url) {
  const std::string_view path = url.substr(0, url.find_first_of("?#"));
  const std::string_view name = path.substr(path.rfind('/') + 1);
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

CifarArchiveSource fetch(FileSystem& files, const std::string& url, const std::string& path,
                         const CifarArchiveRequest& request, TerminalProgress& progress,
                         std::stop_token stop) {
  DownloadOptions options{
      .sha256 = wanted_sha256(request),
      .progress = [&](const Progress& at) { progress.update(at); },
      .notice = [&](std::string_view text) { progress.note(std::string(text)); }};
  options.http.stop = stop;
  const PublishedArchive* published = find_published(url);
  if (published && request.sha256.empty()) options.sha256 = published->sha256;
  progress.note("downloading " + path);
  DownloadReport report;
  try {
    report = download(files, url, path, options);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::network) {
      progress.note(
          "without the network: --archive FILE takes one you have, --synthetic draws one");
    }
    throw;
  }
  if (!options.sha256 && request.sha256 != kNoChecksum) {
    note_unknown_checksum(path, report.sha256, progress);
  }
  return {.path = path};  // checked, if it was to be
}

bool is_there(FileSystem& files, const std::string& path) {
  const auto status = files.status(path);
  return status && status->kind == FileKind::regular;
}

}  // namespace

CifarArchiveSource obtain_cifar_archive(FileSystem& files, const std::string& data_dir,
                                        const CifarArchiveRequest& request,
                                        TerminalProgress& progress, std::stop_token stop) {
  remove_abandoned_partials(files, data_dir,
                            [](std::string_view name) { return name == kSyntheticName; });
  if (!request.archive.empty()) return use_file(request.archive, request);

  const auto in_data_dir = [&](std::string_view name) {
    return data_dir + "/" + std::string(name);
  };
  if (request.synthetic) {
    const std::string path = in_data_dir(kSyntheticName);
    write_synthetic_cifar(files, path,
                          {.seed = request.synthetic_seed,
                           .progress = [&](const Progress& at) { progress.update(at); },
                           .stop = stop});
    return {.path = path, .sha256 = wanted_sha256(request), .synthetic = true};
  }

  if (!request.url.empty()) {
    const std::string path = in_data_dir(file_name_of(request.url));
    if (!is_there(files, path)) return fetch(files, request.url, path, request, progress, stop);
    progress.note(path + ": is there already, not downloaded again");
    return use_file(path, request);
  }

  for (const PublishedArchive& published : std::span(kPublishedArchives).first<2>()) {
    const std::string path = in_data_dir(published.file_name);
    if (is_there(files, path)) return use_file(path, request);
  }
  const PublishedArchive& first = kPublishedArchives.front();
  return fetch(files, std::string(first.url), in_data_dir(first.file_name), request, progress,
               stop);
}

void note_unknown_checksum(const std::string& path, const std::string& sha256,
                           TerminalProgress& progress) {
  const auto found = std::ranges::find(kPublishedArchives, sha256, &PublishedArchive::sha256);
  if (found != kPublishedArchives.end()) return;
  progress.note(path + ": not one of the published archives: its SHA-256 is " + sha256 +
                " (--sha256 makes sure of it)");
}

}  // namespace recordpipe
