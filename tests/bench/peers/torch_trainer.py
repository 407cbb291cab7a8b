"""Training steps in PyTorch on the CPU, in turns with another program's.

usage: torch_trainer.py NETWORK START CORES

NETWORK and START are trainer_turns' (tests/bench/trainer_turns.cc). For each layout prints its name,
the number of parameters and the losses of the first steps, then for each line "LAYOUT STEPS" of
standard input the milliseconds a step.
"""
import sys
import time

import torch
from safetensors.torch import load_file
from torch.nn import functional as F
from torch_networks import load, make

LAYOUTS = {"channels_first": torch.contiguous_format, "channels_last": torch.channels_last}
FIRST_STEPS = 3
LEARNING_RATE = 0.01  # trainer_turns'


class Training:
    """A network in one layout, with the batch that each step takes."""

    def __init__(self, name, start, memory_format):
        variables = load_file(start)
        self._images = variables.pop("batch/images").contiguous(memory_format=memory_format)
        self._labels = variables.pop("batch/labels").long()
        self._network = make(name)
        load(self._network, variables)
        self._network.to(memory_format=memory_format).train()
        self._optimizer = self._network.optimizer(LEARNING_RATE)

    def parameters(self):
        return sum(parameter.numel() for parameter in self._network.parameters())

    def step(self):
        self._optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(self._network(self._images), self._labels)
        loss.backward()
        self._optimizer.step()
        return loss.item()  # a training looks at it, ours does

    def milliseconds(self, steps):
        start = time.perf_counter()
        for _ in range(steps):
            self.step()
        return 1e3 * (time.perf_counter() - start) / steps


def main():
    name, start, cores = sys.argv[1:]
    torch.set_num_threads(int(cores))
    trainings = {}
    for layout, memory_format in LAYOUTS.items():
        training = trainings[layout] = Training(name, start, memory_format)
        losses = [f"{training.step():.9g}" for _ in range(FIRST_STEPS)]
        print(layout, training.parameters(), *losses, flush=True)
    for line in sys.stdin:
        layout, steps = line.split()
        print(trainings[layout].milliseconds(int(steps)), flush=True)


if __name__ == "__main__":
    main()
