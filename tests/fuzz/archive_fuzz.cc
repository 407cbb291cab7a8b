// Reads any bytes as a CIFAR archive, inflated or not: gives complete batches at their positions,
// or an Error.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "recordpipe/base/error.h"
#include "recordpipe/cifar/archive.h"
#include "tests/support/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace recordpipe;
  std::vector<bool> seen;
  try {
    const CifarArchiveKind kind = read_cifar_archive(
        std::make_unique<MemorySource>(std::string(reinterpret_cast<const char*>(data), size)),
        [&](const CifarArchiveKind& found, size_t place, CifarBatch batch) {
          seen.resize(cifar_batch_names(found.dataset).size());
          if (seen.at(place) || batch.rows() == 0) std::abort();
          seen[place] = true;
        });
    if (seen != std::vector<bool>(cifar_batch_names(kind.dataset).size(), true)) std::abort();
  } catch (const Error& error) {
    if (error.reason().empty() || error.hint().empty()) std::abort();
  }
  return 0;
}
