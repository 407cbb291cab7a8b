// Reads and writes objects of Amazon S3 (and services with its interface: MinIO, R2, Ceph) and of
// Google Cloud Storage through the interface of local files (file.h).
//
// A path is s3://BUCKET/KEY or gs://BUCKET/KEY. All bytes after the bucket's slash are the key: it
// is not percent-decoded, and "?", "#", "+", "//" and ".." have no special meaning.
//
// Settings are taken from the environment and the files that the AWS and Google tools use; the
// comments of ObjectStoreOptions list them. Requests go over https; over http only to an endpoint
// that was set. Redirects are not followed, so a credential never reaches another host. Messages
// contain the path, the service's error code and its message, but never a credential.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "recordpipe/http/file_system.h"
#include "recordpipe/io/routed_file_system.h"

namespace recordpipe {

struct ObjectStoreOptions {
  // Retries, timeouts, read-ahead and windows, as for URLs. Also retried: the codes of a busy
  // service (SlowDown, InternalError, RequestTimeout, ...). A request whose credential has expired
  // is sent once more with a new one.
  HttpReadOptions http = {};

  // For writing: an object of more than part_size bytes (default: 16 MiB; AWS and Google: at least
  // 5 MiB) is written in parts, of which parts_in_flight (default: 4) are sent at a time. An object
  // that is being written takes part_size * (parts_in_flight + 1) bytes of memory. It has at most
  // 10,000 parts.
  size_t part_size = size_t{16} << 20;
  size_t parts_in_flight = 4;

  // Returns the value of an environment variable, "" if it is not set (default: the variables of
  // this process). Called on any thread, one at a time for each of s3:// and gs://.
  //
  // s3:// uses:
  //   AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL (default: AWS); AWS_IGNORE_CONFIGURED_ENDPOINT_URLS
  //   AWS_REGION, AWS_DEFAULT_REGION (default: us-east-1; the region of a bucket of AWS is found)
  //   AWS_NO_SIGN_REQUEST (true: anonymous)
  //   AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
  //   AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN, AWS_ROLE_SESSION_NAME, AWS_ENDPOINT_URL_STS
  //   AWS_PROFILE, AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE, HOME: the profile's keys, region,
  //     endpoint_url, addressing_style, web_identity_token_file. Error{unsupported}:
  //     credential_process, SSO, role_arn
  //   AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, ..._FULL_URI, AWS_CONTAINER_AUTHORIZATION_TOKEN,
  //     ..._TOKEN_FILE
  //   AWS_EC2_METADATA_DISABLED, AWS_EC2_METADATA_SERVICE_ENDPOINT, ..._ENDPOINT_MODE
  // gs:// uses:
  //   STORAGE_EMULATOR_HOST (no token is sent to it), CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE
  //   GOOGLE_OAUTH_ACCESS_TOKEN, CLOUDSDK_AUTH_ACCESS_TOKEN
  //   GOOGLE_APPLICATION_CREDENTIALS, CLOUDSDK_CONFIG, HOME
  //   GCE_METADATA_HOST, NO_GCE_CHECK
  std::function<std::string(const std::string& name)> environment = {};
};

// Reads and writes objects, and forwards all other paths to another FileSystem. Thread-safe if the
// other FileSystem is. Reads nothing of the settings before the first object is used.
//
//   open_source(url)  Performs range requests with If-Match, several at a time, ahead of the
//                     reader. The first one, of up to 512 KiB, is answered when open_source()
//                     returns; start_source() sends it, and asks for credentials if necessary,
//                     and so does start_random().
//   open_random(url)  Performs range requests with If-Match, as many at a time as threads read,
//                     read_many() needs and hint() announces: Error{network} if the object was
//                     replaced meanwhile.
//   status(url)       Returns nullopt if there is no such object; a directory, without a request,
//                     for a bucket and for a key that ends with a slash.
//   is_directory(url) Tells from the name, without a request.
//   list(url), list_entries(url), list_entries_with_prefix(url, prefix)
//                     The objects and folders in the folder `url`; a key's slashes separate
//                     folders. One request for each 1000. Objects whose names local files can't
//                     have ("a//b") are not listed.
//   begin_upload(url) Writes an object, as AtomicFile does: at commit() it appears whole, with one
//                     request or by a multipart upload, whose parts are removed if it is not
//                     committed. The service compares checksums (CRC-32C, and for s3:// SHA-256).
//                     If there was no such object at the beginning, and there is one at commit():
//                     Error{already_exists} (S3: If-None-Match; Cloud Storage:
//                     x-goog-if-generation-match, and for objects in parts, for which it has no
//                     conditions, a look before the last request).
//   create(url, mode) The same with another interface: the object appears at close(). No appending.
//   remove(url)       Deletes the object.
//   make_directories(url), remove_empty_directory(url), sync_directory(url)
//                     Nothing: folders are parts of names.
//   map(url), rename(url), lock(url): Error{unsupported}.
// All functions also throw already_exists, not_found, permission_denied, network, unsupported (a
// profile or file whose credentials can't be used), cancelled.
class ObjectStoreFileSystem final : public RoutedFileSystem {
 public:
  // `other` also reads the files with credentials. It must outlive this object, and this object
  // must outlive the files that it opened.
  explicit ObjectStoreFileSystem(FileSystem& other, ObjectStoreOptions options = {});
};

}  // namespace recordpipe
