// Google Cloud Storage, through its XML API.
#pragma once

#include <string>

#include "dataset/object_store/aws/endpoint.h"
#include "dataset/object_store/google/access_token.h"
#include "dataset/object_store/refreshed.h"
#include "dataset/object_store/store.h"

namespace recordpipe {

class GcsStore final : public ObjectStore {
 public:
  // The token is searched when the first request is sent.
  GcsStore(FileSystem& local, const Environment& environment, const HttpClientOptions& http);

  ObjectHeaders if_new() const override;
  // "Preconditions are not supported" (XML API multipart uploads).
  bool has_conditional_multipart() const override { return false; }
  ObjectHeaders checksum(uint32_t crc32c) const override;
  ObjectHeaders checksum_of_parts() const override;
  bool is_content(const HttpResponse& response, const WrittenContent& content) const override;

 protected:
  std::string name() const override { return "Cloud Storage"; }
  AuthorisedRequest authorise(const ObjectRequest& request) override;
  bool renew(const AuthorisedRequest& sent, const ObjectRequest& request,
             const HttpResponse& response, const ServiceError& error) override;
  std::string hint(const AuthorisedRequest& sent, const ServiceError& error) const override;

 private:
  GoogleToken fetch_token();

  FileSystem& local_;
  const Environment environment_;
  const HttpClientOptions http_;
  bool had_token_ = false;  // guarded by the mutex of token_
  Refreshed<GoogleToken> token_;
};

}  // namespace recordpipe
