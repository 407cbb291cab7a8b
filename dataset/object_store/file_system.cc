#include "recordpipe/object_store/file_system.h"

#include <algorithm>
#include <utility>

#include "dataset/http/call_options.h"
#include "dataset/http/files/random_access_file.h"
#include "dataset/http/files/range_source.h"
#include "dataset/http/files/size.h"
#include "dataset/io/uploaded_file.h"
#include "dataset/object_store/aws/s3_store.h"
#include "dataset/object_store/environment.h"
#include "dataset/object_store/google/gcs_store.h"
#include "dataset/object_store/listing.h"
#include "dataset/object_store/object_url.h"
#include "dataset/object_store/requests/small_request.h"
#include "dataset/object_store/upload.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/http/url.h"

namespace recordpipe {
namespace {

void refuse(const std::string& path, const char* what) {
  if (!is_object_url(path)) return;
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

}  // namespace

ObjectStoreFileSystem::ObjectStoreFileSystem(FileSystem& other, ObjectStoreOptions options)
    : other_(other),
      options_(std::move(options)),
      client_(std::make_shared<HttpClient>(options_.http.http, options_.http.max_requests)),
      budget_(std::make_shared<ByteBudget>(options_.http.bytes_in_flight)) {}

ObjectStoreFileSystem::~ObjectStoreFileSystem() = default;

std::shared_ptr<ObjectStore> ObjectStoreFileSystem::store_for(const std::string& path) {
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

std::unique_ptr<ByteSource> ObjectStoreFileSystem::open_source(const std::string& path) {
  if (!is_object_url(path)) return other_.open_source(path);
  auto source = start_source(path);
  source->open();
  return source;
}

std::unique_ptr<StartedSource> ObjectStoreFileSystem::start_source(const std::string& path) {
  if (!is_object_url(path)) return nullptr;
  const ObjectUrl object = object_of(path);
  return std::make_unique<RangeSource>(object_target(store_for(path), object),
                                       for_this_call(options_.http), client_, budget_);
}

std::unique_ptr<RandomAccessFile> ObjectStoreFileSystem::open_random(const std::string& path) {
  if (!is_object_url(path)) return other_.open_random(path);
  const ObjectUrl object = object_of(path);
  return std::make_unique<HttpRandomAccessFile>(object_target(store_for(path), object),
                                                for_this_call(options_.http), client_);
}

std::unique_ptr<MappedFile> ObjectStoreFileSystem::map(const std::string& path) {
  if (!is_object_url(path)) return other_.map(path);
  throw Error({.kind = ErrorKind::unsupported,
               .path = path,
               .reason = "an object can't be mapped into memory",
               .hint = "download it, then read it"});
}

bool ObjectStoreFileSystem::can_map(const std::string& path) {
  return !is_object_url(path) && other_.can_map(path);
}

bool ObjectStoreFileSystem::reads_ahead(const std::string& path) {
  return is_object_url(path) || other_.reads_ahead(path);
}

std::unique_ptr<OutputFile> ObjectStoreFileSystem::create(const std::string& path,
                                                          CreateMode mode) {
  if (!is_object_url(path)) return other_.create(path, mode);
  if (mode == CreateMode::append) refuse(path, "appended to");
  return std::make_unique<UploadedFile>(path, begin_upload(path));
}

std::unique_ptr<Upload> ObjectStoreFileSystem::begin_upload(const std::string& path) {
  if (!is_object_url(path)) return other_.begin_upload(path);
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

std::optional<FileStatus> ObjectStoreFileSystem::status(const std::string& path) {
  if (!is_object_url(path)) return other_.status(path);
  const ObjectUrl object = parse_object_url(path);
  if (object.is_folder()) return FileStatus{.kind = FileKind::directory};
  return status_at(object_target(store_for(path), object), for_this_call(options_.http), *client_);
}

std::string ObjectStoreFileSystem::resolve_link(const std::string& path) {
  return is_object_url(path) ? path : other_.resolve_link(path);
}

std::vector<std::string> ObjectStoreFileSystem::list(const std::string& directory) {
  if (!is_object_url(directory)) return other_.list(directory);
  std::vector<std::string> names;
  for (DirectoryEntry& entry : list_entries(directory)) names.push_back(std::move(entry.name));
  return names;
}

std::vector<DirectoryEntry> ObjectStoreFileSystem::list_entries(const std::string& directory) {
  if (!is_object_url(directory)) return other_.list_entries(directory);
  return list_entries_with_prefix(directory, "");
}

std::vector<DirectoryEntry> ObjectStoreFileSystem::list_entries_with_prefix(
    const std::string& directory, std::string_view prefix) {
  if (!is_object_url(directory)) return other_.list_entries_with_prefix(directory, prefix);
  ObjectUrl folder = parse_object_url(directory);
  if (!folder.is_folder()) folder.key += '/';
  ObjectUrl listed = folder;
  listed.key += prefix;
  const ObjectListing listing = list_objects(*store_for(directory), listed, ListDepth::folder,
                                             for_this_call(options_.http), *client_);
  std::vector<DirectoryEntry> entries;
  const auto add = [&](std::string_view key, FileKind kind, std::optional<uint64_t> size) {
    // A server may send other keys than it was asked for.
    if (!key.starts_with(listed.key)) return;
    key.remove_prefix(folder.key.size());
    if (key.empty() || key.find('/') != key.npos) return;
    entries.push_back({.name = std::string(key), .kind = kind, .size = size});
  };
  for (const ListedObject& object : listing.objects) {
    add(object.key, FileKind::regular, object.size);
  }
  for (std::string_view name : listing.folders) {
    if (name.ends_with('/')) name.remove_suffix(1);
    add(name, FileKind::directory, std::nullopt);
  }
  std::ranges::sort(entries, {}, &DirectoryEntry::name);
  return entries;
}

bool ObjectStoreFileSystem::is_directory(const std::string& path) {
  if (!is_object_url(path)) return other_.is_directory(path);
  return parse_object_url(path).is_folder();
}

void ObjectStoreFileSystem::make_directories(const std::string& path) {
  if (!is_object_url(path)) other_.make_directories(path);
}

void ObjectStoreFileSystem::rename(const std::string& from, const std::string& to) {
  refuse(from, "renamed");
  refuse(to, "renamed");
  other_.rename(from, to);
}

void ObjectStoreFileSystem::remove(const std::string& path) {
  if (!is_object_url(path)) return other_.remove(path);
  const ObjectRequest request{.object = object_of(path), .method = "DELETE", .accepted = {404}};
  const HttpReadOptions options = for_this_call(options_.http);
  send_small(*store_for(path), request, options, *client_, options.http.stop);
}

void ObjectStoreFileSystem::remove_empty_directory(const std::string& path) {
  if (!is_object_url(path)) other_.remove_empty_directory(path);
}

void ObjectStoreFileSystem::sync_directory(const std::string& path) {
  if (!is_object_url(path)) other_.sync_directory(path);
}

std::unique_ptr<FileLock> ObjectStoreFileSystem::lock(const std::string& path) {
  refuse(path, "locked");
  return other_.lock(path);
}

}  // namespace recordpipe
