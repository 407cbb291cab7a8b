#include "dataset/object_store/requests/md5.h"

#include <openssl/evp.h>

namespace recordpipe {

std::string md5(std::string_view data) {
  std::string digest(16, '\0');
  const int done =
      EVP_Digest(data.data(), data.size(), reinterpret_cast<unsigned char*>(digest.data()), nullptr,
                 EVP_md5(), nullptr);
  return done == 1 ? digest : "";
}

}  // namespace recordpipe
