// Runs single transfers through libcurl's multi interface. The event loop is in this file, so that
// stop requests, stall detection and progress reports do not depend on curl's callbacks.
#include "recordpipe/http/client.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <new>
#include <string_view>
#include <utility>

#include <curl/curl.h>

#include "recordpipe/stop.h"

namespace recordpipe {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kTick{100};

void initialise_curl() {
  static const CURLcode result = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (result != CURLE_OK) throw std::bad_alloc();
}

std::string header(CURL* easy, const char* name) {
  curl_header* found = nullptr;
  return curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &found) == CURLHE_OK ? found->value : "";
}

// Whether a header line holds a credential.
bool is_secret(std::string_view line) {
  static constexpr std::string_view kSecret[] = {"authorization", "cookie", "x-amz-security-token"};
  std::string name(line.substr(0, line.find(':')));
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::ranges::find(kSecret, name) != std::end(kSecret);
}

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

const char* hint_for(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
      return "check the URL and this machine's network and proxy settings";
    case CURLE_COULDNT_RESOLVE_PROXY:
      return "check the proxy settings (https_proxy, http_proxy, all_proxy)";
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
      return "the server's certificate could not be verified: check the URL, this machine's date "
             "and its certificates (package ca-certificates)";
    case CURLE_SSL_CACERT_BADFILE:
      return "install the trusted certificates (package ca-certificates)";
    case CURLE_UNSUPPORTED_PROTOCOL:  // HTTP/0.9: a response without a head
      return "the server does not speak HTTP: check the URL";
    default:
      return "";
  }
}

}  // namespace

struct HttpClient::Handles {
  Handles() : easy(curl_easy_init()), multi(curl_multi_init()) {
    if (easy == nullptr || multi == nullptr) {
      release();
      throw std::bad_alloc();
    }
  }
  ~Handles() { release(); }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  void release() {
    curl_easy_cleanup(easy);
    curl_multi_cleanup(multi);
  }

  CURL* easy;
  CURLM* multi;
};

// One request to one URL; does not follow redirects.
class HttpClient::Transfer {
 public:
  Transfer(const Handles& handles, const HttpClientOptions& options, const HttpRequest& request,
           const HttpHandler& handler)
      : easy_(handles.easy),
        multi_(handles.multi),
        options_(options),
        request_(request),
        handler_(handler),
        response_{.url = request.url} {
    for (const std::string& line : request.headers) add_header(line.c_str());
    if (request.body) add_header("Expect:");  // otherwise, a large body waits for a 100 (Continue)
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
    if (!options.ca_file.empty()) {
      set(CURLOPT_CAINFO, options.ca_file.c_str());
      set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // excludes the system's certificates
    }
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options.connect_timeout.count()));
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_QUICK_EXIT, 1L);  // otherwise, a stop would wait for an unresponsive name server
    set(CURLOPT_ERRORBUFFER, message_);
    set(CURLOPT_WRITEFUNCTION, &Transfer::write);
    set(CURLOPT_WRITEDATA, this);
    check(curl_multi_add_handle(multi_, easy_));
  }
  ~Transfer() {
    curl_multi_remove_handle(multi_, easy_);
    curl_easy_reset(easy_);  // drops pointers to this object; keeps the connection open
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Returns the target of a redirect; empty after any other response.
  std::optional<HttpUrl> run() {
    const std::stop_callback wake(options_.stop, [this] { curl_multi_wakeup(multi_); });
    window_start_ = Clock::now();
    int running = 1;
    while (true) {
      check(curl_multi_perform(multi_, &running));
      if (exception_) std::rethrow_exception(exception_);
      if (running == 0) break;
      throw_if_stopped(options_.stop, response_.url.shown());
      tick();
      check(curl_multi_poll(multi_, nullptr, 0, static_cast<int>(kTick.count()), nullptr));
    }
    if (const CURLcode code = result(); code != CURLE_OK && !unwanted_) fail(code);
    if (!head_seen_) take_head();  // there was no body
    return std::move(redirect_);
  }

 private:
  void add_header(const char* line) {
    curl_slist* longer = curl_slist_append(headers_.get(), line);
    if (longer == nullptr) throw std::bad_alloc();
    (void)headers_.release();
    headers_.reset(longer);
  }

  template <typename Value>
  void set(CURLoption option, Value value) {
    const CURLcode code = curl_easy_setopt(easy_, option, value);
    if (code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc();
    if (code != CURLE_OK) fail(code);
  }

  static void check(CURLMcode code) {
    if (code == CURLM_OUT_OF_MEMORY) throw std::bad_alloc();
    if (code != CURLM_OK) {
      throw Error({.kind = ErrorKind::network, .reason = curl_multi_strerror(code)});
    }
  }

  // curl's callback for a piece of the body. A result other than `size` ends the transfer.
  static size_t write(char* data, size_t, size_t size, void* self) noexcept {
    return static_cast<Transfer*>(self)->take(std::as_bytes(std::span(data, size))) ? size : 0;
  }

  bool take(std::span<const std::byte> bytes) noexcept try {
    if (!head_seen_) take_head();
    if (unwanted_) return false;
    received_ += bytes.size();
    handler_.on_body(bytes);
    return true;
  } catch (...) {
    exception_ = std::current_exception();
    return false;
  }

  void take_head() {
    head_seen_ = true;
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &response_.status);
    const std::string location = header(easy_, "Location");
    const long status = response_.status;
    if (request_.follow_redirects && !location.empty() &&
        (status == 301 || status == 302 || status == 303 || status == 307 || status == 308)) {
      redirect_ = response_.url.redirected(location);
      unwanted_ = true;
      return;
    }
    curl_off_t number = -1;
    curl_easy_getinfo(easy_, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &number);
    if (number >= 0) response_.content_length = static_cast<uint64_t>(number);
    number = 0;
    curl_easy_getinfo(easy_, CURLINFO_RETRY_AFTER, &number);  // in seconds, even if sent as a date
    if (number > 0) response_.retry_after = std::chrono::seconds(number);
    response_.content_range = header(easy_, "Content-Range");
    response_.content_type = header(easy_, "Content-Type");
    response_.date = header(easy_, "Date");
    response_.etag = header(easy_, "ETag");
    response_.last_modified = header(easy_, "Last-Modified");
    response_.bucket_region = header(easy_, "x-amz-bucket-region");
    response_.google_hash = header(easy_, "x-goog-hash");
    unwanted_ = !handler_.on_response(response_);
  }

  void tick() {
    const Clock::time_point now = Clock::now();
    if (now - last_tick_ >= kTick) {
      last_tick_ = now;
      handler_.on_tick();
    }
    curl_off_t sent = 0;
    curl_easy_getinfo(easy_, CURLINFO_SIZE_UPLOAD_T, &sent);
    const uint64_t moved = received_ + static_cast<uint64_t>(sent);
    if (moved - window_moved_ >= options_.stall_bytes) {
      window_moved_ = moved;
      window_start_ = now;
    } else if (now - window_start_ >= options_.stall_timeout) {
      throw TransientError({.kind = ErrorKind::network,
                            .path = response_.url.shown(),
                            .reason = "the transfer stalled: fewer than " +
                                      std::to_string(options_.stall_bytes) + " bytes moved in " +
                                      std::to_string(options_.stall_timeout.count()) + " ms"});
    }
  }

  CURLcode result() const {
    int left = 0;
    const CURLMsg* message = curl_multi_info_read(multi_, &left);
    return message == nullptr ? CURLE_OK : message->data.result;
  }

  // Throws TransientError or Error.
  [[noreturn]] void fail(CURLcode code) const {
    // curl also returns this code for a header line that exceeds its limit.
    if (code == CURLE_OUT_OF_MEMORY) {
      throw Error({.kind = ErrorKind::network,
                   .path = response_.url.shown(),
                   .reason = "a response header is too long, or out of memory",
                   .hint = "the server is misconfigured: check the URL"});
    }
    Error::Parts parts{.kind = ErrorKind::network,
                       .path = response_.url.shown(),
                       .reason = printable(message_[0] ? message_ : curl_easy_strerror(code)),
                       .hint = hint_for(code)};
    if (is_permanent(code)) throw Error(std::move(parts));
    throw TransientError(std::move(parts));
  }

  struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };

  CURL* easy_;
  CURLM* multi_;
  const HttpClientOptions& options_;
  const HttpRequest& request_;
  const HttpHandler& handler_;
  HttpResponse response_;
  std::unique_ptr<curl_slist, FreeList> headers_;
  char message_[CURL_ERROR_SIZE] = "";
  std::exception_ptr exception_;
  std::optional<HttpUrl> redirect_;
  bool head_seen_ = false;
  bool unwanted_ = false;  // skip the body
  uint64_t received_ = 0;
  uint64_t window_moved_ = 0;  // received and sent before the current window
  Clock::time_point window_start_;
  Clock::time_point last_tick_;
};

HttpClient::HttpClient(HttpClientOptions options) : options_(std::move(options)) {
  initialise_curl();
  handles_ = std::make_unique<Handles>();
}

HttpClient::~HttpClient() = default;

void HttpClient::send(const HttpRequest& request, const HttpHandler& handler) {
  HttpRequest at = request;
  for (int redirects = 0; redirects <= options_.max_redirects; ++redirects) {
    std::optional<HttpUrl> next = Transfer(*handles_, options_, at, handler).run();
    if (!next) return;
    at.url = std::move(*next);
    if (!at.url.has_same_origin(request.url)) std::erase_if(at.headers, is_secret);
  }
  throw Error({.kind = ErrorKind::network,
               .path = request.url.shown(),
               .reason = "redirected more than " + std::to_string(options_.max_redirects) +
                         " times, the last time to " + printable(at.url.shown()),
               .hint = "the server is misconfigured: check the URL"});
}

void HttpClient::get(const HttpUrl& url, const std::vector<std::string>& headers,
                     const HttpHandler& handler) {
  send({.url = url, .headers = headers}, handler);
}

}  // namespace recordpipe
