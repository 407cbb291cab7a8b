// cifar10_main: trains and evaluates ResNet on CIFAR-10. See --help.
#include "trainer/programs/cifar10_flags.h"
#include "trainer/programs/cifar10_training.h"
#include "trainer/programs/program_main.h"

int main(int argc, char** argv) {
  return recordpipe::program_main("cifar10_main", argc, argv, [](int count, char** arguments) {
    return recordpipe::train_cifar10(recordpipe::parse_cifar10_flags(count, arguments));
  });
}
