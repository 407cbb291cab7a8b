"""Trains ResNet completely in PyTorch, on the files of our training. Can be interrupted and
resumed.

usage: torch_training.py DATA_DIR JOB_DIR LAYERS STEPS SEED DEVICE PRECISION [CHECKPOINT_STEPS]

The tutorial's recipe, with cifar10_main's defaults: batches of 128, images padded by 4, cropped and
flipped at random, momentum 0.9, weight decay 2e-4 on all variables, learning rates for 82, 123 and
300 epochs, Glorot's initial weights. Images stay on the device and are distorted there.
JOB_DIR/checkpoint.pt holds the state and is written atomically: every CHECKPOINT_STEPS (default:
5000), with the accuracy on the eval images on standard error; at the end; and after SIGTERM, which
ends the program with status 143. The last line is "eval accuracy P% (correct/total) at step N".
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
        self._epoch, self._distorted = None, None

    def _of(self, epoch):
        """Returns the images and labels of an epoch in its order, distorted. All at once: with one
        batch at a time, a GPU would wait for the host's indices and launches."""
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed((self._seed << 32) + epoch)
            order = torch.randperm(self._count, generator=generator).to(self._device)
            top, left = torch.randint(0, 2 * PAD + 1, (2, self._count, 1), generator=generator)
            flip = torch.randint(0, 2, (self._count, 1), generator=generator)
            across = torch.arange(32).expand(self._count, 32)
            rows = (top + across).to(self._device)
            columns = (left + torch.where(flip > 0, 31 - across, across)).to(self._device)
            channels = torch.arange(3, device=self._device)
            images = self._padded[order[:, None, None, None], channels[None, :, None, None],
                                  rows[:, None, :, None], columns[:, None, None, :]]
            self._epoch, self._distorted = epoch, (images, self._labels[order])
        return self._distorted

    def __call__(self, step):
        epoch, at = divmod(step * BATCH, self._count)
        images, labels = (values[at:at + BATCH] for values in self._of(epoch))
        missing = BATCH - len(labels)
        if missing:
            more, their_labels = (values[:missing] for values in self._of(epoch + 1))
            images, labels = torch.cat([images, more]), torch.cat([labels, their_labels])
        return scaled(images), labels


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
        self._run = f"resnet{layers}, seed {seed}, {precision}"
        self.network = make(f"resnet{layers}")
        initialize(self.network, seed)
        self.network.to(device, memory_format=torch.channels_last)
        self._optimizer = self.network.optimizer(0.1)
        self.step, self.seconds = 0, 0.0
        if self._path.exists():
            state = torch.load(self._path, map_location=device, weights_only=True)
            if state.get("run") != self._run:
                raise SystemExit(f"{self._path} is a checkpoint of another training "
                                 f"({state.get('run')}), not of {self._run}")
            self.network.load_state_dict(state["network"])
            self._optimizer.load_state_dict(state["optimizer"])
            self.step, self.seconds = state["step"], state["seconds"]
        self._loss_of = self._loss if device == "cpu" else torch.compile(
            self._loss, mode="reduce-overhead")

    def save(self):
        partial = self._path.with_suffix(".partial")
        torch.save({"run": self._run, "network": self.network.state_dict(), "step": self.step,
                    "optimizer": self._optimizer.state_dict(), "seconds": self.seconds}, partial)
        os.replace(partial, self._path)

    def _loss(self, images, labels):
        with torch.autocast(self._device, torch.bfloat16, enabled=self._bf16):
            return F.cross_entropy(self.network(images).float(), labels)

    def train_step(self, images, labels, rate):
        """Returns the loss, a tensor that the next step may overwrite."""
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
    data, job, layers, steps, seed, device, precision, *rest = sys.argv[1:]
    steps, seed, job = int(steps), int(seed), pathlib.Path(job)
    checkpoint_steps = int(rest[0]) if rest else 5000
    job.mkdir(parents=True, exist_ok=True)
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))

    images, labels = read(pathlib.Path(data, "train.tfrecords"))
    held_out = read(pathlib.Path(data, "eval.tfrecords"))
    batches = Batches(images, labels, seed, device)
    training = Training(job, layers, seed, device, precision)
    print(f"from step {training.step} of {steps}", file=sys.stderr, flush=True)
    started, before = time.monotonic(), training.seconds
    while training.step < steps and not stop:
        loss = training.train_step(*batches(training.step),
                                   learning_rate(training.step, len(labels)))
        if training.step % checkpoint_steps == 0:
            training.seconds = before + time.monotonic() - started
            training.save()
            print(f"step {training.step}, loss = {loss.item():.4f}, {training.seconds:.0f} s, "
                  f"{training.correct(*held_out)} of {len(held_out[1])} correct", file=sys.stderr,
                  flush=True)
    training.seconds = before + time.monotonic() - started
    training.save()
    if training.step < steps:
        sys.exit(143)
    right, count = training.correct(*held_out), len(held_out[1])
    print(f"eval accuracy {100 * right / count:.2f}% ({right}/{count}) at step {training.step}")


if __name__ == "__main__":
    main()
