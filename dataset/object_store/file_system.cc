#include "recordpipe/object_store/file_system.h"

#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "dataset/http/call_options.h"
#include "dataset/http/files/range_request.h"
#include "dataset/http/files/size.h"
#include "dataset/io/listings.h"
#include "dataset/io/range_source.h"
#include "dataset/io/uploaded_file.h"
#include "dataset/io/windowed_file.h"
#include "dataset/object_store/aws/s3_store.h"
#include "dataset/object_store/environment.h"
#include "dataset/object_store/google/gcs_store.h"
#include "dataset/object_store/listing.h"
#include "dataset/object_store/object_url.h"
#include "dataset/object_store/requests/small_request.h"
#include "dataset/object_store/upload.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/fork.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/http/url.h"

namespace recordpipe {
namespace {

[[noreturn]] void refuse(const std::string& path, const char* what) {
  throw Error({.kind = ErrorKind::unsupported,
               .path = path,
               .reason = std::string("an object can't be ") + what,
               .hint = "name a file on this machine"});
}

// An object's URL; a folder is none.
ObjectUrl object_of(const std::string& path) {
  const ObjectUrl url = parse_object_url(path);
  if (!url.is_folder()) return url;
  throw Error(
      {.kind = ErrorKind::invalid_argument,
       .path = path,
       .reason = "a bucket or a folder, not an object",
       .hint = "name an object, or write a pattern: " + path + (path.ends_with('/') ? "*" : "/*")});
}

// In a build without libcurl, throws Error{unsupported} that names the object.
void require_client(const std::string& path) {
  try {
    (void)HttpUrl("https://object.invalid/");
  } catch (const Error& error) {
    Error::Parts parts = error.parts();
    parts.path = path;
    throw Error(std::move(parts));
  }
}

// The objects only.
class ObjectFiles final : public FileSystem {
 public:
  ObjectFiles(FileSystem& other, ObjectStoreOptions options)
      : other_(other),
        options_(std::move(options)),
        client_(std::make_shared<HttpClient>(options_.http.http, options_.http.max_requests)),
        budget_(std::make_shared<ByteBudget>(options_.http.bytes_in_flight)) {}

  std::unique_ptr<ByteSource> open_source(const std::string& path) override {
    return begin_source(path)();
  }
  std::unique_ptr<RandomAccessFile> open_random(const std::string& path) override {
    return begin_random(path)();
  }
  Opening<ByteSource> start_source(const std::string& path) override {
    try {
      return begin_source(path);
    } catch (const Error&) {
      return FileSystem::start_source(path);  // which throws it, when it is the file's turn
    }
  }
  Opening<RandomAccessFile> start_random(const std::string& path) override {
    try {
      return begin_random(path);
    } catch (const Error&) {
      return FileSystem::start_random(path);
    }
  }
  std::unique_ptr<MappedFile> map(const std::string& path) override {
    throw Error({.kind = ErrorKind::unsupported,
                 .path = path,
                 .reason = "an object can't be mapped into memory",
                 .hint = "download it, then read it"});
  }
  bool can_map(const std::string&) override { return false; }
  bool reads_ahead(const std::string&) override { return true; }
  std::unique_ptr<OutputFile> create(const std::string& path, CreateMode mode) override {
    if (mode == CreateMode::append) refuse(path, "appended to");
    return std::make_unique<UploadedFile>(path, begin_upload(path));
  }
  std::unique_ptr<Upload> begin_upload(const std::string& path) override {
    const ObjectUrl object = object_of(path);
    Replacing replacing = Replacing::allowed;
    try {
      if (!status(path)) replacing = Replacing::refused;
    } catch (const Error& error) {
      // A program that may only write.
      if (error.kind() != ErrorKind::permission_denied) throw;
    }
    ObjectStoreOptions options = options_;
    options.http = for_this_call(options.http);
    return std::make_unique<ObjectUpload>(
        std::make_unique<UploadRequests>(store_for(path), object, options.http, client_, replacing),
        options);
  }
  std::optional<FileStatus> status(const std::string& path) override {
    const ObjectUrl object = parse_object_url(path);
    if (object.is_folder()) return FileStatus{.kind = FileKind::directory};
    return status_at(object_target(store_for(path), object), for_this_call(options_.http),
                     *client_);
  }
  std::vector<DirectoryEntry> list_entries(const std::string& directory) override {
    return list_entries_with_prefix(directory, "");
  }
  std::vector<DirectoryEntry> list_entries_with_prefix(const std::string& directory,
                                                       std::string_view prefix) override {
    ObjectUrl folder = parse_object_url(directory);
    if (!folder.is_folder()) folder.key += '/';
    ObjectUrl listed = folder;
    listed.key += prefix;
    const ObjectListing listing = list_objects(*store_for(directory), listed, ListDepth::folder,
                                               for_this_call(options_.http), *client_);
    std::vector<DirectoryEntry> entries;
    const auto add = [&](std::string_view key, FileKind kind, std::optional<uint64_t> size) {
      if (!key.starts_with(folder.key)) return;
      key.remove_prefix(folder.key.size());
      entries.push_back({.name = std::string(key), .kind = kind, .size = size});
    };
    for (const ListedObject& object : listing.objects) {
      add(object.key, FileKind::regular, object.size);
    }
    for (std::string_view name : listing.folders) {
      if (name.ends_with('/')) name.remove_suffix(1);
      add(name, FileKind::directory, std::nullopt);
    }
    return checked_entries(std::move(entries), prefix);
  }
  bool is_directory(const std::string& path) override { return parse_object_url(path).is_folder(); }
  void make_directories(const std::string&) override {}
  void rename(const std::string& from, const std::string& to) override {
    refuse(is_object_url(from) ? from : to, "renamed");
  }
  void remove(const std::string& path) override {
    const ObjectRequest request{.object = object_of(path), .method = "DELETE", .accepted = {404}};
    const HttpReadOptions options = for_this_call(options_.http);
    send_small(*store_for(path), request, options, *client_, options.http.stop);
  }
  void remove_empty_directory(const std::string&) override {}
  void sync_directory(const std::string&) override {}
  std::unique_ptr<FileLock> lock(const std::string& path) override { refuse(path, "locked"); }

 private:
  // The store of s3:// or gs://, made by the first call.
  std::shared_ptr<ObjectStore> store_for(const std::string& path) {
    require_client(path);
    const Environment environment =
        options_.environment ? Environment(options_.environment) : process_environment();
    const std::lock_guard lock(mutex_);
    if (path.starts_with("gs://")) {
      if (!gcs_) gcs_ = std::make_shared<GcsStore>(other_, environment, options_.http.http);
      return gcs_;
    }
    if (!s3_) s3_ = std::make_shared<S3Store>(other_, environment, options_.http.http);
    return s3_;
  }

  // Requests the first `size` bytes.
  std::shared_ptr<HttpRanges> begin(const std::string& path, size_t size) {
    const ObjectUrl object = object_of(path);
    return std::make_shared<HttpRanges>(object_target(store_for(path), object),
                                        for_this_call(options_.http), client_, size);
  }
  Opening<ByteSource> begin_source(const std::string& path) {
    return [this, ranges = begin(path, first_range(options_.http))] {
      auto first = ranges->open();
      return std::make_unique<RangeSource>(ranges, range_options(options_.http), budget_,
                                           std::move(first));
    };
  }
  Opening<RandomAccessFile> begin_random(const std::string& path) {
    return [this, ranges = begin(path, options_.http.smallest_window)] {
      auto first = ranges->open();
      return std::make_unique<WindowedFile>(ranges, range_options(options_.http), std::move(first));
    };
  }

  FileSystem& other_;
  const ObjectStoreOptions options_;
  const std::shared_ptr<HttpClient> client_;
  const std::shared_ptr<ByteBudget> budget_;  // of the streams
  std::mutex mutex_;
  std::shared_ptr<ObjectStore> s3_;
  std::shared_ptr<ObjectStore> gcs_;
  const internal::AfterFork renewal_{[this] {
    if (internal::renew(mutex_)) return;
    internal::renew_without_destruction(s3_);
    internal::renew_without_destruction(gcs_);
  }};
};

}  // namespace

ObjectStoreFileSystem::ObjectStoreFileSystem(FileSystem& other, ObjectStoreOptions options)
    : RoutedFileSystem(other, std::make_shared<ObjectFiles>(other, std::move(options)),
                       is_object_url) {}

}  // namespace recordpipe
