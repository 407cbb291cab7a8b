// Prints the plan of batches from a file, and the error for missing files.
#include <cstdio>

#include "recordpipe/base/error.h"
#include "recordpipe/cifar/cifar10_dataset.h"
#include "recordpipe/cifar/convert.h"

using namespace recordpipe;

int main() {
  std::printf("%s\n", cifar10_batches({"none.tfrecords"}).explain().c_str());
  try {
    cifar10_files(".", Cifar10Subset::train);
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
  }
}
