"""Measures training steps in PyTorch on request, so that a driver can alternate them with the steps
of another program.

usage: torch_trainer.py NETWORK START CORES [DEVICE [PRECISION [VARIANT ...]]]

NETWORK and START as in trainer_turns (tests/bench/trainer_turns.cc); DEVICE is cpu or cuda,
PRECISION fp32, tf32 or bf16. VARIANTs: those of VARIANTS below (default: channels_first and
channels_last). For each, prints its name, the number of parameters and the losses of the first
steps, or its name, "failed" and the reason. Then, for each line "VARIANT STEPS" of standard input,
prints the milliseconds per step. With VARIANT/profiled, a GPU profiler that was told not to profile
from the start records these steps.

On a GPU the loss is read only after the last step of a turn, which is PyTorch's fastest mode.
"""
import contextlib
import sys
import time

import torch
from safetensors.torch import load_file
from torch.nn import functional as F
from torch_networks import load, make

FIRST_STEPS = 3
LEARNING_RATE = 0.001  # as in trainer_turns
# The memory format, the mode of torch.compile (None: not compiled), and whether the whole step
# including the update is captured as one CUDA graph.
VARIANTS = {
    "channels_first": (torch.contiguous_format, None, False),
    "channels_last": (torch.channels_last, None, False),
    "compiled": (torch.channels_last, {}, False),
    "compiled_graphs": (torch.channels_last, {"mode": "reduce-overhead"}, False),
    "compiled_whole_graph": (torch.channels_last, {}, True),
}


class Training:
    """A network in one variant, with its fixed batch."""

    def __init__(self, name, start, device, precision, variant):
        memory_format, compiling, self._captures = VARIANTS[variant]
        variables = load_file(start)
        self._device = torch.device(device)
        self._images = variables.pop("batch/images").to(device, memory_format=memory_format)
        self._labels = variables.pop("batch/labels").to(device, torch.long)
        self._network = make(name)
        load(self._network, variables)
        self._network.to(device, memory_format=memory_format).train()
        self._optimizer = self._network.optimizer(LEARNING_RATE)
        self._bf16 = precision == "bf16"
        self._loss_of = self._forward if compiling is None else torch.compile(
            self._forward, **compiling)
        self._graph = None
        self._loss = None

    def parameters(self):
        return sum(parameter.numel() for parameter in self._network.parameters())

    def _forward(self, images, labels):
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._bf16,
                            cache_enabled=not self._captures):
            return F.cross_entropy(self._network(images).float(), labels)

    def _step(self):
        loss = self._loss_of(self._images, self._labels)
        loss.backward()
        self._optimizer.step()
        return loss.detach()

    def _capture(self):
        """Captures the whole step as a CUDA graph, as PyTorch recommends: after warm-up steps."""
        self._optimizer.zero_grad(set_to_none=True)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._loss = self._step()

    def step(self):
        """Returns the loss before the update, a tensor that the next step may overwrite."""
        if self._graph:
            self._graph.replay()
            return self._loss
        self._optimizer.zero_grad(set_to_none=True)
        return self._step()

    def first_steps(self):
        """Returns the losses of the first steps. Afterwards the training is ready to be
        measured."""
        losses = []
        if self._captures:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                losses = [self.step().item() for _ in range(FIRST_STEPS)]
            torch.cuda.current_stream().wait_stream(stream)
            self._capture()
        else:
            losses = [self.step().item() for _ in range(FIRST_STEPS)]
        return losses

    def milliseconds(self, steps):
        on_cpu = self._device.type == "cpu"
        start = time.perf_counter()
        for _ in range(steps):
            loss = self.step()
            if on_cpu:
                loss.item()  # our training also reads the loss
        loss.item()
        if not on_cpu:
            torch.cuda.synchronize()
        return 1e3 * (time.perf_counter() - start) / steps


def main():
    name, start, cores, *rest = sys.argv[1:]
    device, precision, *variants = [*rest, *["cpu", "fp32"][len(rest):]]
    torch.set_num_threads(int(cores))
    # By default PyTorch uses tf32 for convolutions, but not for matrix products.
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    trainings = {}
    for variant in variants or ("channels_first", "channels_last"):
        try:
            training = Training(name, start, device, precision, variant)
            losses = training.first_steps()
        except Exception as error:  # one unsupported variant must not prevent the others
            if device == "cpu" and variant.startswith("channels"):
                raise
            print(variant, "failed", type(error).__name__, " ".join(str(error).split())[:300],
                  flush=True)
            continue
        trainings[variant] = training
        print(variant, training.parameters(), *(f"{loss:.9g}" for loss in losses), flush=True)
    for line in sys.stdin:
        word, steps = line.split()
        variant, _, profiled = word.partition("/")
        on_gpu = profiled and torch.cuda.is_available()
        with torch.cuda.profiler.profile() if on_gpu else contextlib.nullcontext():
            print(trainings[variant].milliseconds(int(steps)), flush=True)


if __name__ == "__main__":
    main()
