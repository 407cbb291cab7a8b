// cifar10_train: trains the tutorial's network on CIFAR-10. See --help.
#include "trainer/programs/program_main.h"
#include "trainer/programs/tutorial_flags.h"
#include "trainer/programs/tutorial_training.h"

int main(int argc, char** argv) {
  return recordpipe::program_main("cifar10_train", argc, argv, [](int count, char** arguments) {
    return recordpipe::train_tutorial_cnn(recordpipe::parse_cifar10_train_flags(count, arguments));
  });
}
