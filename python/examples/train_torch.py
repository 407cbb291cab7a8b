"""Trains a small network on CIFAR-10 with PyTorch, and resumes where it was stopped.

    python make_cifar10.py cifar-10-binary.tar.gz data/cifar10
    python train_torch.py data/cifar10/train.tfrecords --epochs 10 --checkpoint train.pt

The records are tf.train.Examples with "image", 3 * 32 * 32 bytes in planes, as in CIFAR's archives,
and "label", an int64. Images are padded, cropped and flipped in other ways in each epoch, by the
threads of the pipeline: there are no worker processes. Stop the program at any time and start it
again: it goes on with the batch after the last saved one.
"""

import argparse
import os
from typing import Any

import recordpipe as rp
import recordpipe.torch as rpt
import torch
from torch import nn

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)  # of CIFAR-10's training images


def records(paths: str) -> rp.Dataset:
    return (
        rp.tfrecords(paths)
        .parse(
            {
                "image": rp.FixedLenFeature([], "bytes"),
                "label": rp.FixedLenFeature([], "int64"),
            }
        )
        .shuffle(seed=7)  # all of it, in another order in each epoch
        .decode_raw("image", [3, 32, 32], layout="NCHW")
        .pad_crop_flip("image", 4, seed=7)
        .normalize("image", MEAN, STD, scale=1 / 255)
        .image_format("image", "float32", layout="NCHW")
    )


def network() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(3, 32, 3, stride=2, padding=1), nn.ReLU()),
        *(nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(64 * 8 * 8, 10)),
    )


def save(path: str, **parts: Any) -> None:
    """The weights, the optimizer and the place in the data, which belong together."""
    torch.save({name: part.state_dict() for name, part in parts.items()}, f"{path}.new")
    os.replace(f"{path}.new", path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--checkpoint", default="train.pt")
    parser.add_argument("--save-every", type=int, default=100)
    parser.add_argument("--stop-after", type=int, default=0, help="steps of this run")
    options = parser.parse_args()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(1)
    model = network().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    batches = records(options.paths).batch(options.batch_size, drop_remainder=True).prefetch()
    loader = rpt.Loader(batches, pin_memory=device == "cuda")
    if len(loader) == 0:
        parser.error("there are fewer records than a batch needs: --batch-size")
    parts: dict[str, Any] = {"model": model, "optimizer": optimizer, "loader": loader}
    if os.path.exists(options.checkpoint):
        saved = torch.load(options.checkpoint)
        for name, part in parts.items():
            part.load_state_dict(saved[name])
        print(f"resumed in epoch {loader.epoch}")

    step = 0
    while loader.epoch < options.epochs:
        epoch, losses = loader.epoch, []
        for batch in loader:
            images = batch["image"].to(device, non_blocking=True)
            labels = batch["label"].to(device, non_blocking=True)
            loss: Any = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            losses.append(loss.detach())
            if step % options.save_every == 0 or step == options.stop_after:
                save(options.checkpoint, **parts)
            if step == options.stop_after:
                return
        print(f"epoch {epoch}: mean loss {sum(losses) / max(1, len(losses)):.4f}")
    save(options.checkpoint, **parts)


if __name__ == "__main__":
    main()
