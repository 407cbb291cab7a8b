"""Trains ResNet completely in PyTorch, on the files of our training. Can be interrupted and
resumed.

usage: torch_training.py DATA_DIR JOB_DIR LAYERS STEPS SEED DEVICE PRECISION

The tutorial's recipe, with cifar10_main's defaults: batches of 128, images padded by 4, cropped and
flipped at random, momentum 0.9, weight decay 2e-4 on all variables, learning rates for 82, 123 and
300 epochs, Glorot's initial weights. Images stay on the device and are distorted there.
JOB_DIR/checkpoint.pt holds the state and is written atomically, also after SIGTERM, which ends the
program with status 143. The last line is "eval accuracy P% (correct/total) at step N".
"""
import os
import pathlib
import signal
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch_networks import make

BATCH = 128
PAD = 4
CHECKPOINT_STEPS = 5000
IMAGE_BYTES = 3 * 32 * 32


def read(path):
    """Returns images [n, 3, 32, 32] and labels from a file of generate_cifar10_tfrecords. Checks
    that all records have the same size and form."""
    data = np.fromfile(path, np.uint8)
    size = int.from_bytes(data[:8].tobytes(), "little") + 16
    records = data.reshape(-1, size)
    first = records[0].tobytes()
    image = first.index(b"\x0a\x80\x18") + 3  # a bytes value of 3072
    label = first.index(b"\x0a\x05label\x12\x05\x1a\x03\x0a\x01") + 13  # one int64 below 128
    frame = np.ones(size, bool)
    frame[8:12] = frame[-4:] = frame[image:image + IMAGE_BYTES] = frame[label] = False
    if (records[:, frame] != records[0, frame]).any() or (records[:, label] > 9).any():
        raise SystemExit(f"{path}: not what generate_cifar10_tfrecords writes")
    images = records[:, image:image + IMAGE_BYTES].reshape(-1, 3, 32, 32)
    return torch.from_numpy(images.copy()), torch.from_numpy(records[:, label].astype(np.int64))


def scaled(images):
    return (images.float() / 128 - 1).contiguous(memory_format=torch.channels_last)


class Batches:
    """Makes batch number `step` of a training, which is the same after any interruptions."""

    def __init__(self, images, labels, seed, device):
        self._padded = F.pad(images.to(device), (PAD, PAD, PAD, PAD))
        self._labels = labels.to(device)
        self._seed, self._device, self._count = seed, device, len(labels)
        self._epoch, self._order = None, None

    def _at(self, epoch):
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed((self._seed << 32) + epoch)
            self._epoch = epoch
            self._order = torch.randperm(self._count, generator=generator).to(self._device)
        return self._order

    def __call__(self, step):
        begin = step * BATCH
        epoch, at = divmod(begin, self._count)
        chosen = self._at(epoch)[at:at + BATCH]
        if len(chosen) < BATCH:
            chosen = torch.cat([chosen, self._at(epoch + 1)[:BATCH - len(chosen)]])
        generator = torch.Generator().manual_seed((self._seed << 32) + (1 << 31) + step)
        top, left = torch.randint(0, 2 * PAD + 1, (2, BATCH), generator=generator)
        flip = torch.randint(0, 2, (BATCH, 1), generator=generator)
        across = torch.arange(32).expand(BATCH, 32)
        rows = (top[:, None] + across).to(self._device, non_blocking=True)
        columns = (left[:, None] + torch.where(flip > 0, 31 - across, across)).to(
            self._device, non_blocking=True)
        images = self._padded[chosen[:, None, None, None],
                              torch.arange(3, device=self._device)[None, :, None, None],
                              rows[:, None, :, None], columns[:, None, None, :]]
        return scaled(images), self._labels[chosen]


def initialize(network, seed):
    torch.manual_seed(seed)
    for module in network.modules():
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def learning_rate(step, images):
    epoch = step // (images // BATCH)
    return 0.1 * next(factor for end, factor in ((82, 1), (123, 0.1), (300, 0.01), (1e9, 0.002))
                      if epoch < end)


class Training:
    def __init__(self, job_dir, layers, seed, device, precision):
        self._path = job_dir / "checkpoint.pt"
        self._device, self._bf16 = device, precision == "bf16"
        self.network = make(f"resnet{layers}")
        initialize(self.network, seed)
        self.network.to(device, memory_format=torch.channels_last)
        self._optimizer = self.network.optimizer(0.1)
        self.step, self.seconds = 0, 0.0
        if self._path.exists():
            state = torch.load(self._path, map_location=device, weights_only=True)
            self.network.load_state_dict(state["network"])
            self._optimizer.load_state_dict(state["optimizer"])
            self.step, self.seconds = state["step"], state["seconds"]
        self._loss_of = self._loss if device == "cpu" else torch.compile(self._loss)

    def save(self):
        partial = self._path.with_suffix(".partial")
        torch.save({"network": self.network.state_dict(), "step": self.step,
                    "optimizer": self._optimizer.state_dict(), "seconds": self.seconds}, partial)
        os.replace(partial, self._path)

    def _loss(self, images, labels):
        with torch.autocast(self._device, torch.bfloat16, enabled=self._bf16):
            return F.cross_entropy(self.network(images).float(), labels)

    def train_step(self, images, labels, rate):
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.zero_grad(set_to_none=True)
        loss = self._loss_of(images, labels)
        loss.backward()
        self._optimizer.step()
        self.step += 1
        return loss.detach()

    @torch.no_grad()
    def correct(self, images, labels):
        self.network.eval()
        right = 0
        with torch.autocast(self._device, torch.bfloat16, enabled=self._bf16):
            for begin in range(0, len(labels), 1000):
                logits = self.network(scaled(images[begin:begin + 1000].to(self._device)))
                right += int((logits.argmax(1).cpu() == labels[begin:begin + 1000]).sum())
        self.network.train()
        return right


def main():
    data, job, layers, steps, seed, device, precision = sys.argv[1:]
    steps, seed, job = int(steps), int(seed), pathlib.Path(job)
    job.mkdir(parents=True, exist_ok=True)
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))

    images, labels = read(pathlib.Path(data, "train.tfrecords"))
    batches = Batches(images, labels, seed, device)
    training = Training(job, layers, seed, device, precision)
    print(f"from step {training.step} of {steps}", file=sys.stderr, flush=True)
    started, before = time.monotonic(), training.seconds
    while training.step < steps and not stop:
        loss = training.train_step(*batches(training.step), learning_rate(training.step, len(labels)))
        if training.step % CHECKPOINT_STEPS == 0 or training.step == steps:
            training.seconds = before + time.monotonic() - started
            training.save()
            print(f"step {training.step}, loss = {loss.item():.4f}, {training.seconds:.0f} s",
                  file=sys.stderr, flush=True)
    if training.step < steps:
        training.seconds = before + time.monotonic() - started
        training.save()
        sys.exit(143)
    images, labels = read(pathlib.Path(data, "eval.tfrecords"))
    right = training.correct(images, labels)
    print(f"eval accuracy {100 * right / len(labels):.2f}% ({right}/{len(labels)}) "
          f"at step {training.step}")


if __name__ == "__main__":
    main()
