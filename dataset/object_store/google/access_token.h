// Finds an OAuth 2.0 access token for Cloud Storage where Google's tools find one.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "dataset/object_store/environment.h"
#include "recordpipe/http/client.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

struct GoogleToken {
  std::string token = {};  // "" if none was found: requests are not authorised
  std::optional<std::chrono::system_clock::time_point> expires = {};

  bool operator==(const GoogleToken&) const = default;
};

// Returns the token of the first source that has one:
//   1. GOOGLE_OAUTH_ACCESS_TOKEN or CLOUDSDK_AUTH_ACCESS_TOKEN
//   2. the file GOOGLE_APPLICATION_CREDENTIALS, otherwise that of `gcloud auth application-default
//      login`: of a user ("authorized_user") or a service account ("service_account")
//   3. the metadata server of Google Cloud (GCE_METADATA_HOST), unless NO_GCE_CHECK is true
// Returns no token if there is none, and with STORAGE_EMULATOR_HOST: an emulator must not receive
// one. Throws Error{unsupported} for a file of another type.
GoogleToken find_google_token(FileSystem& local, const Environment& environment,
                              const HttpClientOptions& http);

}  // namespace recordpipe
