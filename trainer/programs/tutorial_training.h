// cifar10_train and cifar10_eval: training and evaluation of the tutorial's network.
#pragma once

#include "trainer/programs/tutorial_flags.h"

namespace recordpipe {

// Both return the program's exit status: 0, or 128 plus the signal that interrupted it.
int train_tutorial_cnn(const TutorialTrainFlags& flags);
int evaluate_tutorial_cnn(const TutorialEvalFlags& flags);

}  // namespace recordpipe
