// Reads any bytes as a CIFAR batch's pickle: gives a consistent batch, or an Error with an offset
// in the input.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "dataset/cifar/pickle.h"
#include "recordpipe/base/error.h"
#include "tests/support/bytes.h"

namespace recordpipe {
namespace {

void read(const std::string& pickle, CifarDataset dataset) {
  MemorySource source(pickle);
  try {
    const CifarBatch batch = read_cifar_pickle(source, pickle.size(), dataset);
    const bool cifar100 = dataset == CifarDataset::cifar100;
    const auto below = [](int limit) { return [limit](uint8_t label) { return label < limit; }; };
    if (batch.rows() == 0 || batch.rows() > kMaxCifarRows ||
        !std::ranges::all_of(batch.labels, below(cifar100 ? kCifar100Classes : kCifar10Classes)) ||
        batch.coarse_labels.size() != (cifar100 ? batch.rows() : 0) ||
        !std::ranges::all_of(batch.coarse_labels, below(kCifar100Superclasses)) ||
        as_text(batch.image(batch.rows() - 1)).size() != kCifarImageSize) {
      std::abort();
    }
  } catch (const Error& error) {
    if (error.offset().value_or(pickle.size() + 1) > pickle.size()) std::abort();
  }
}

}  // namespace
}  // namespace recordpipe

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  recordpipe::read(input, recordpipe::CifarDataset::cifar10);
  recordpipe::read(input, recordpipe::CifarDataset::cifar100);
  return 0;
}
