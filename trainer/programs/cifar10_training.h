// What cifar10_main does: train ResNet on CIFAR-10's records, save checkpoints, evaluate.
#pragma once

#include "trainer/programs/cifar10_flags.h"

namespace recordpipe {

// Logs to stderr, prints the results to stdout. Returns the program's exit status: 0, or 128 and
// the signal that interrupted it.
int train_cifar10(const Cifar10Flags& flags);

}  // namespace recordpipe
