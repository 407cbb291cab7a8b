#include "dataset/http/transfer/curl_transfer.h"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "dataset/base/lower_case.h"
#include "recordpipe/base/error.h"

namespace recordpipe {
namespace {

std::string header(CURL* easy, const char* name) {
  curl_header* found = nullptr;
  return libcurl().easy_header(easy, name, 0, CURLH_HEADER, -1, &found) == CURLHE_OK ? found->value
                                                                                     : "";
}

std::vector<std::pair<std::string, std::string>> extensions(CURL* easy) {
  std::vector<std::pair<std::string, std::string>> found;
  curl_header* at = nullptr;
  while ((at = libcurl().easy_nextheader(easy, CURLH_HEADER, -1, at)) != nullptr) {
    std::string name = lower_case(at->name);
    if (name.starts_with("x-")) found.emplace_back(std::move(name), at->value);
  }
  return found;
}

constexpr long kNetworkRead = 64 << 10;

// Whether a retry cannot succeed after this failure.
bool is_permanent(CURLcode code) {
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
      return true;
    default:
      return false;
  }
}

const char* hint_for_certificates(CURLcode code) {
  if (find_certificates() == Certificates()) {
    return "this machine has no trusted certificates: install the package ca-certificates, or name "
           "a file of them in SSL_CERT_FILE or CURL_CA_BUNDLE, or a folder in SSL_CERT_DIR";
  }
  if (code == CURLE_SSL_CACERT_BADFILE) {
    return "install the trusted certificates (package ca-certificates), and check SSL_CERT_FILE, "
           "SSL_CERT_DIR and CURL_CA_BUNDLE";
  }
  return "the server's certificate could not be verified: check the URL, this machine's date "
         "and its certificates (package ca-certificates; SSL_CERT_FILE)";
}

const char* hint_for(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
      return "check the URL and this machine's network and proxy settings";
    case CURLE_COULDNT_RESOLVE_PROXY:
      return "check the proxy settings (https_proxy, http_proxy, all_proxy)";
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
      return hint_for_certificates(code);
    case CURLE_UNSUPPORTED_PROTOCOL:  // HTTP/0.9: a response without a head
      return "the server does not speak HTTP: check the URL";
    default:
      return "";
  }
}

bool is_redirect_status(long status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

}  // namespace

CurlTransfer::CurlTransfer(CURLM* multi, CURL* easy, std::shared_ptr<Transfer> transfer,
                           RequestLimit::Running running)
    : multi_(multi),
      easy_(easy),
      transfer_(std::move(transfer)),
      running_(std::move(running)),
      halvings_(transfer_->limit ? transfer_->limit->halvings() : 0) {
  const HttpRequest& request = transfer_->request;
  const HttpClientOptions& options = *transfer_->options;
  for (const std::string& line : request.headers) add_header(line.c_str());
  if (request.body) add_header("Expect:");  // otherwise, a large body waits for a 100 (Continue)
  set(CURLOPT_PRIVATE, this);
  set(CURLOPT_URL, request.url.text().c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  if (request.path_as_is) set(CURLOPT_PATH_AS_IS, 1L);
  if (request.method != "GET") {
    const std::string* const body = request.body.get();
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body ? body->size() : 0));
    set(CURLOPT_POSTFIELDS, body ? body->c_str() : "");
    set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  if (!options.use_proxy) set(CURLOPT_PROXY, "");
  set(CURLOPT_HTTPHEADER, headers_.get());
  set(CURLOPT_USERAGENT, "recordpipe");
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  trust(options.ca_file.empty() ? find_certificates() : Certificates{.file = options.ca_file});
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count()));
  // Refused if the handle still has the buffer of a transfer that failed early: that one is used.
  (void)libcurl().easy_setopt(easy_, CURLOPT_BUFFERSIZE, kNetworkRead);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);  // otherwise, an end would wait for an unresponsive name server
  set(CURLOPT_ERRORBUFFER, message_);
  set(CURLOPT_WRITEFUNCTION, &CurlTransfer::write);
  set(CURLOPT_WRITEDATA, this);
  if (libcurl().multi_add_handle(multi_, easy_) != CURLM_OK) throw std::bad_alloc();
}

CurlTransfer::~CurlTransfer() {
  libcurl().multi_remove_handle(multi_, easy_);
  libcurl().easy_reset(easy_);
}

void CurlTransfer::add_header(const char* line) {
  curl_slist* longer = libcurl().slist_append(headers_.get(), line);
  if (longer == nullptr) throw std::bad_alloc();
  (void)headers_.release();
  headers_.reset(longer);
}

// Only these.
void CurlTransfer::trust(const Certificates& certificates) {
  const char* const file = certificates.file.empty() ? nullptr : certificates.file.c_str();
  const char* const folder = certificates.folder.empty() ? nullptr : certificates.folder.c_str();
  set(CURLOPT_CAINFO, file);
  set(CURLOPT_CAPATH, folder);
  set(CURLOPT_PROXY_CAINFO, file);
  set(CURLOPT_PROXY_CAPATH, folder);
}

template <typename Value>
void CurlTransfer::set(CURLoption option, Value value) {
  const CURLcode code = libcurl().easy_setopt(easy_, option, value);
  if (code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
  if (code != CURLE_OK) fail(code);
}

void CurlTransfer::resume() {
  window_start_ = Clock::now();
  if (transfer_->limit) running_ = transfer_->limit->go_on();
  libcurl().easy_pause(easy_, CURLPAUSE_CONT);  // may call write()
}

void CurlTransfer::check_progress(Clock::time_point now) {
  {
    const std::lock_guard lock(transfer_->mutex);
    if (transfer_->is_paused) return;
  }
  const HttpClientOptions& options = *transfer_->options;
  curl_off_t sent = 0;
  libcurl().easy_getinfo(easy_, CURLINFO_SIZE_UPLOAD_T, &sent);
  const uint64_t moved = received_ + static_cast<uint64_t>(sent);
  if (moved - window_moved_ >= options.stall_bytes) {
    window_moved_ = moved;
    window_start_ = now;
  } else if (now - window_start_ >= options.stall_timeout) {
    throw TransientError({.kind = ErrorKind::network,
                          .path = transfer_->request.url.shown(),
                          .reason = "the transfer stalled: fewer than " +
                                    std::to_string(options.stall_bytes) + " bytes moved in " +
                                    std::to_string(options.stall_timeout.count()) + " ms"});
  }
}

void CurlTransfer::finish(CURLcode result) {
  if (exception_) std::rethrow_exception(exception_);
  if (is_redirect_) return;
  if (result != CURLE_OK) fail(result);
  if (!has_head_) take_head();  // there was no body
}

// curl's callback for a piece of the body.
size_t CurlTransfer::write(char* data, size_t, size_t size, void* self) noexcept {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  try {
    return transfer.take(std::as_bytes(std::span(data, size)));
  } catch (...) {
    transfer.exception_ = std::current_exception();
    return CURL_WRITEFUNC_ERROR;
  }
}

size_t CurlTransfer::take(std::span<const std::byte> bytes) {
  if (!has_head_) take_head();
  if (is_redirect_) return CURL_WRITEFUNC_ERROR;
  const std::lock_guard lock(transfer_->mutex);
  const size_t room = transfer_->sink.size() - transfer_->filled;
  if (room == 0 && transfer_->arrived.size() >= transfer_->ahead) {
    transfer_->is_paused = true;
    running_.reset();
    return CURL_WRITEFUNC_PAUSE;
  }
  const auto first = bytes.first(std::min(room, bytes.size()));
  std::ranges::copy(first, transfer_->sink.subspan(transfer_->filled).begin());
  transfer_->filled += first.size();
  transfer_->arrived.insert(transfer_->arrived.end(), bytes.begin() + first.size(), bytes.end());
  received_ += bytes.size();
  transfer_->changed.notify_all();
  return bytes.size();
}

void CurlTransfer::take_head() {
  has_head_ = true;
  HttpResponse response{.url = transfer_->request.url};
  libcurl().easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &response.status);
  if (transfer_->limit) transfer_->limit->answered(response.status, halvings_);
  const std::string location = header(easy_, "Location");
  is_redirect_ = transfer_->request.follow_redirects && !location.empty() &&
                 is_redirect_status(response.status);
  if (is_redirect_) {
    HttpUrl url = response.url.redirected(location);
    const std::lock_guard lock(transfer_->mutex);
    transfer_->redirect = std::move(url);
    return;
  }
  curl_off_t number = -1;
  libcurl().easy_getinfo(easy_, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &number);
  if (number >= 0) response.content_length = static_cast<uint64_t>(number);
  number = 0;
  libcurl().easy_getinfo(easy_, CURLINFO_RETRY_AFTER,
                         &number);  // in seconds, even if sent as a date
  if (number > 0) response.retry_after = std::chrono::seconds(number);
  response.content_range = header(easy_, "Content-Range");
  response.content_type = header(easy_, "Content-Type");
  response.date = header(easy_, "Date");
  response.etag = header(easy_, "ETag");
  response.last_modified = header(easy_, "Last-Modified");
  response.extensions = extensions(easy_);
  const std::lock_guard lock(transfer_->mutex);
  const uint64_t expected =
      std::min<uint64_t>(response.content_length.value_or(0), transfer_->ahead);
  transfer_->arrived.reserve(static_cast<size_t>(expected));
  transfer_->head = std::move(response);
  transfer_->changed.notify_all();
}

// Throws TransientError or Error.
void CurlTransfer::fail(CURLcode code) const {
  const std::string& shown = transfer_->request.url.shown();
  // curl also returns this code for a header line that exceeds its limit.
  if (code == CURLE_OUT_OF_MEMORY) {
    throw Error({.kind = ErrorKind::network,
                 .path = shown,
                 .reason = "a response header is too long, or out of memory",
                 .hint = "the server is misconfigured: check the URL"});
  }
  Error::Parts parts{.kind = ErrorKind::network,
                     .path = shown,
                     .reason = printable(message_[0] ? message_ : libcurl().easy_strerror(code)),
                     .hint = hint_for(code)};
  if (is_permanent(code)) throw Error(std::move(parts));
  throw TransientError(std::move(parts));
}

}  // namespace recordpipe
