// Amazon S3 and services with its interface (MinIO, R2, Ceph, ...).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "dataset/object_store/aws/credentials.h"
#include "dataset/object_store/aws/endpoint.h"
#include "dataset/object_store/refreshed.h"
#include "dataset/object_store/store.h"
#include "recordpipe/base/internal/fork.h"

namespace recordpipe {

class S3Store final : public ObjectStore {
 public:
  // Reads the settings (endpoint.h). Credentials are searched when the first request is sent.
  S3Store(FileSystem& local, const Environment& environment, const HttpClientOptions& http);

  ObjectHeaders if_new() const override;
  bool has_conditional_multipart() const override { return true; }
  ObjectHeaders checksum(uint32_t crc32c) const override;
  ObjectHeaders checksum_of_parts() const override;
  bool is_content(const HttpResponse& response, const WrittenContent& content) const override;

 protected:
  std::string name() const override { return "S3"; }
  AuthorisedRequest authorise(const ObjectRequest& request) override;
  bool renew(const AuthorisedRequest& sent, const ObjectRequest& request,
             const HttpResponse& response, const ServiceError& error) override;
  std::string hint(const AuthorisedRequest& sent, const ServiceError& error) const override;

 private:
  AwsCredentials fetch_credentials();
  std::string region_of(const std::string& bucket);

  const S3Settings settings_;
  const AwsCredentialContext context_;
  bool had_credentials_ = false;  // guarded by the mutex of credentials_
  Refreshed<AwsCredentials> credentials_;

  std::mutex mutex_;
  std::map<std::string, std::string> regions_;  // of buckets in other regions than the set one
  const internal::AfterFork renewal_{[this] {
    if (!internal::renew(mutex_)) internal::renew_without_destruction(regions_);
  }};
};

}  // namespace recordpipe
