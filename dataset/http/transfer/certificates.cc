#include "dataset/http/transfer/certificates.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <unistd.h>

#include "dataset/http/transfer/libcurl.h"

namespace recordpipe {
namespace {

// As Go's crypto/x509 has them.
constexpr std::array kFiles = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch
    "/etc/pki/tls/certs/ca-bundle.crt",                   // Fedora, RHEL 6
    "/etc/ssl/ca-bundle.pem",                             // openSUSE
    "/etc/pki/tls/cacert.pem",                            // OpenELEC
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // RHEL 7 and later
    "/etc/ssl/cert.pem",                                  // Alpine
};
constexpr std::array kFolders = {"/etc/ssl/certs", "/etc/pki/tls/certs"};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

bool is_there(const char* path) { return path && access(path, R_OK) == 0; }

template <size_t size>
std::string first_of(const std::array<const char*, size>& paths) {
  const auto found = std::ranges::find_if(paths, is_there);
  return found == paths.end() ? "" : *found;
}

Certificates of_system() {
  const curl_version_info_data* const curl = libcurl().version_info(CURLVERSION_NOW);
  if (is_there(curl->cainfo) || is_there(curl->capath)) {
    return {.file = is_there(curl->cainfo) ? curl->cainfo : "",
            .folder = is_there(curl->capath) ? curl->capath : ""};
  }
  Certificates found{.file = first_of(kFiles)};
  if (found.file.empty()) found.folder = first_of(kFolders);
  return found;
}

}  // namespace

Certificates find_certificates() {
  if (Certificates given{.file = variable("CURL_CA_BUNDLE")}; given != Certificates()) return given;
  Certificates given{.file = variable("SSL_CERT_FILE"), .folder = variable("SSL_CERT_DIR")};
  if (given != Certificates()) return given;
  static const Certificates system = of_system();
  return system;
}

}  // namespace recordpipe
