#include "dataset/object_store/requests/upload_requests.h"

#include <algorithm>
#include <span>
#include <utility>

#include "dataset/base/hex.h"
#include "dataset/base/parse_number.h"
#include "dataset/object_store/requests/md5.h"
#include "dataset/object_store/requests/xml.h"
#include "recordpipe/base/error.h"
#include "recordpipe/checksum/crc32c.h"

namespace recordpipe {
namespace {

constexpr long kNotImplemented = 501;

// The bytes of an ETag that is an MD5; "" for any other.
std::string md5_of(std::string_view etag) {
  if (etag.size() != 34 || !etag.starts_with('"') || !etag.ends_with('"')) return "";
  std::string bytes;
  for (size_t at = 1; at < 33; at += 2) {
    const auto value = parse_number<unsigned>(etag.substr(at, 2), 16);
    if (!value) return "";
    bytes += static_cast<char>(*value);
  }
  return bytes;
}

std::string escaped(std::string_view text) {
  std::string xml;
  for (const char c : text) {
    if (c == '&') {
      xml += "&amp;";
    } else if (c == '<') {
      xml += "&lt;";
    } else if (c == '>') {
      xml += "&gt;";
    } else {
      xml += c;
    }
  }
  return xml;
}

// The text of the element at `path`; "" if there is none.
std::string element(std::string_view document, std::string_view path) {
  XmlReader xml(document);
  while (xml.next()) {
    if (xml.event() == XmlReader::Event::end && xml.path() == path) return xml.text();
  }
  return "";
}

bool is_result(std::string_view document) {
  try {
    XmlReader xml(document);
    return xml.next() && xml.path() == "/CompleteMultipartUploadResult";
  } catch (const Error&) {
    return false;
  }
}

void append(ObjectHeaders& headers, ObjectHeaders more) {
  for (auto& header : more) headers.push_back(std::move(header));
}

std::string completion(const std::vector<UploadedPart>& parts, bool has_checksums) {
  std::string xml = "<CompleteMultipartUpload>";
  for (size_t i = 0; i < parts.size(); ++i) {
    xml += "<Part>";
    if (has_checksums) {
      xml += "<ChecksumCRC32C>" + crc32c_text(parts[i].crc32c) + "</ChecksumCRC32C>";
    }
    xml += "<ETag>" + escaped(parts[i].etag) + "</ETag><PartNumber>" + std::to_string(i + 1) +
           "</PartNumber></Part>";
  }
  return xml + "</CompleteMultipartUpload>";
}

}  // namespace

std::string multipart_etag(const std::vector<UploadedPart>& parts) {
  std::string digests;
  for (const UploadedPart& part : parts) {
    const std::string digest = md5_of(part.etag);
    if (digest.empty()) return "";
    digests += digest;
  }
  const std::string digest = md5(digests);
  return digest.empty() ? ""
                        : '"' + hex(std::as_bytes(std::span(digest))) + "-" +
                              std::to_string(parts.size()) + '"';
}

UploadRequests::UploadRequests(std::shared_ptr<ObjectStore> store, ObjectUrl object,
                               const HttpReadOptions& options, std::shared_ptr<HttpClient> client,
                               Replacing replacing)
    : store_(std::move(store)),
      object_(std::move(object)),
      options_(options),
      client_(std::move(client)),
      replacing_(replacing) {}

ObjectRequest UploadRequests::request(std::string method) const {
  return {.object = object_, .method = std::move(method)};
}

SmallAnswer UploadRequests::send(ObjectRequest request, const std::stop_token& stop) const {
  return send_small(*store_, request, options_, *client_, stop);
}

Error UploadRequests::already_there() const {
  return Error({.kind = ErrorKind::already_exists,
                .path = object_.text(),
                .reason = "another program has written this object meanwhile",
                .hint = "give another name, or repeat to replace the object"});
}

bool UploadRequests::is_there(const WrittenContent& content, const std::stop_token& stop) const {
  ObjectRequest wanted = request("GET");
  wanted.headers = {{"Range", "bytes=0-0"}};
  wanted.accepted = {404, 416};
  return store_->is_content(send(std::move(wanted), stop).response, content);
}

bool UploadRequests::is_absent(const std::stop_token& stop) const {
  ObjectRequest look = request("GET");
  look.headers = {{"Range", "bytes=0-0"}};
  look.accepted = {404, 416};
  return send(std::move(look), stop).response.status == 404;
}

void UploadRequests::put(std::shared_ptr<const std::string> body,
                         const std::stop_token& stop) const {
  const uint32_t crc = crc32c(std::as_bytes(std::span(*body)));
  ObjectRequest wanted = request("PUT");
  wanted.headers = store_->checksum(crc);
  wanted.headers.emplace_back("Content-Type", "application/octet-stream");
  wanted.body = body;
  const ObjectRequest unconditional = wanted;
  if (replacing_ == Replacing::refused) {
    append(wanted.headers, store_->if_new());
    wanted.accepted = {kNotImplemented};
  }
  const SmallAnswer answer = send(std::move(wanted), stop);
  if (answer.response.status == kNotImplemented) {
    // A service that has no conditions.
    if (!is_absent(stop)) throw already_there();
    send(unconditional, stop);
    return;
  }
  if (answer.response.status != 412) return;
  // An attempt whose answer was lost may have written the object: the next one finds it.
  const std::string digest = md5(*body);
  const std::string etag = digest.empty() ? "" : '"' + hex(std::as_bytes(std::span(digest))) + '"';
  if (is_there({.etag = etag, .crc32c = crc}, stop)) return;
  throw already_there();
}

BegunUpload UploadRequests::begin(const std::stop_token& stop) const {
  ObjectRequest wanted = request("POST");
  wanted.query = {{"uploads", ""}};
  wanted.headers = store_->checksum_of_parts();
  wanted.headers.emplace_back("Content-Type", "application/octet-stream");
  wanted.accepted = {kNotImplemented};
  bool has_checksums = wanted.headers.size() > 1;
  SmallAnswer answer = send(wanted, stop);
  if (answer.response.status == kNotImplemented) {
    // A service that doesn't know checksums of parts.
    wanted.headers = {wanted.headers.back()};
    wanted.accepted.clear();
    has_checksums = false;
    answer = send(wanted, stop);
  }
  std::string id;
  try {
    id = element(answer.body, "/InitiateMultipartUploadResult/UploadId");
  } catch (const Error&) {
    id.clear();
  }
  if (id.empty()) {
    throw Error({.kind = ErrorKind::network,
                 .path = object_.text(),
                 .reason = "the service began no multipart upload",
                 .hint = "check the endpoint"});
  }
  return {.id = std::move(id), .has_checksums = has_checksums};
}

SentPart UploadRequests::start_part(const BegunUpload& upload, size_t number,
                                    std::shared_ptr<const std::string> body) const {
  SentPart sent{.part = {.crc32c = crc32c(std::as_bytes(std::span(*body))), .size = body->size()}};
  ObjectRequest wanted = request("PUT");
  wanted.query = {{"partNumber", std::to_string(number)}, {"uploadId", upload.id}};
  if (upload.has_checksums || store_->checksum_of_parts().empty()) {
    wanted.headers = store_->checksum(sent.part.crc32c);
  }
  wanted.headers.emplace_back("Content-Type", "application/octet-stream");
  wanted.body = std::move(body);
  sent.request = std::make_unique<SmallRequest>(*store_, std::move(wanted), options_, *client_);
  return sent;
}

UploadedPart UploadRequests::finish_part(SentPart sent, const std::stop_token& stop) const {
  UploadedPart part = std::move(sent.part);
  part.etag = sent.request->finish(stop).response.etag;
  if (part.etag.empty()) {
    throw Error({.kind = ErrorKind::network,
                 .path = object_.text(),
                 .reason = "the service gave no ETag for a part",
                 .hint = "check the endpoint"});
  }
  return part;
}

void UploadRequests::complete(const BegunUpload& upload, const std::vector<UploadedPart>& parts,
                              const std::stop_token& stop) const {
  WrittenContent content{.etag = multipart_etag(parts)};
  for (const UploadedPart& part : parts) {
    content.crc32c = crc32c_concat(content.crc32c, part.crc32c, part.size);
  }
  ObjectRequest wanted = request("POST");
  wanted.query = {{"uploadId", upload.id}};
  wanted.headers = {{"Content-Type", "application/xml"}};
  wanted.body = std::make_shared<const std::string>(completion(parts, upload.has_checksums));
  wanted.accepted = {404};
  wanted.late_errors = true;
  const ObjectRequest unconditional = wanted;
  if (replacing_ == Replacing::refused) {
    if (store_->has_conditional_multipart()) {
      append(wanted.headers, store_->if_new());
      wanted.accepted.push_back(kNotImplemented);
    } else if (!is_absent(stop)) {
      throw already_there();
    }
  }
  SmallAnswer answer = send(std::move(wanted), stop);
  if (answer.response.status == kNotImplemented) {
    if (!is_absent(stop)) throw already_there();
    answer = send(unconditional, stop);
  }
  const long status = answer.response.status;
  if (status == 200 && is_result(answer.body)) return;
  // An attempt whose answer was lost, or that the service did not end, may have been carried out.
  if (is_there(content, stop)) return;
  if (status == 412) throw already_there();
  throw Error({.kind = ErrorKind::network,
               .path = object_.text(),
               .reason = status == 404 ? "the service does not know this multipart upload any more"
                                       : "the service did not say that the object is complete",
               .hint = "check whether the object is there and whether a rule of the bucket ends "
                       "uploads, then repeat"});
}

void UploadRequests::abort(const BegunUpload& upload) const noexcept {
  try {
    static constexpr std::chrono::milliseconds kTimeout{5000};
    HttpReadOptions options = options_;
    options.http.stop = {};
    options.http.connect_timeout = std::min(options.http.connect_timeout, kTimeout);
    options.http.stall_timeout = std::min(options.http.stall_timeout, kTimeout);
    options.retry.retries = std::min(options.retry.retries, 1);
    HttpClient client(options.http);
    ObjectRequest wanted = request("DELETE");
    wanted.query = {{"uploadId", upload.id}};
    wanted.accepted = {404};
    send_small(*store_, wanted, options, client, {});
  } catch (...) {
    // The service keeps the parts until a rule of the bucket removes them.
  }
}

}  // namespace recordpipe
