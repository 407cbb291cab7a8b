// The trusted certificates of this system.
#pragma once

#include <string>

namespace recordpipe {

// A file and a folder of certificates, as CURLOPT_CAINFO and CURLOPT_CAPATH take them; "" for none.
struct Certificates {
  std::string file = {};
  std::string folder = {};

  bool operator==(const Certificates&) const = default;
};

// Those of the environment, as curl reads it: CURL_CA_BUNDLE, or SSL_CERT_FILE and SSL_CERT_DIR.
// Else those that libcurl was built with, if they are there; else the first of the places where
// Linux distributions keep them. libcurl in a Python wheel was built with none.
Certificates find_certificates();

}  // namespace recordpipe
