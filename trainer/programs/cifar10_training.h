// The work of cifar10_main: trains ResNet on CIFAR-10's records, saves checkpoints, evaluates.
#pragma once

#include "trainer/programs/cifar10_flags.h"

namespace recordpipe {

// Logs to standard error, prints the results to standard output. Returns the program's exit status:
// 0, or 128 plus the signal that interrupted it.
int train_cifar10(const Cifar10Flags& flags);

}  // namespace recordpipe
