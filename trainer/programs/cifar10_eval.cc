// cifar10_eval: evaluates checkpoints of the tutorial's network. See --help.
#include "trainer/programs/program_main.h"
#include "trainer/programs/tutorial_flags.h"
#include "trainer/programs/tutorial_training.h"

int main(int argc, char** argv) {
  return recordpipe::program_main("cifar10_eval", argc, argv, [](int count, char** arguments) {
    return recordpipe::evaluate_tutorial_cnn(
        recordpipe::parse_cifar10_eval_flags(count, arguments));
  });
}
