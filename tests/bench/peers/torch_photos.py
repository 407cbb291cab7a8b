"""Rows of bench_photos of torch's DataLoader with PIL and torchvision, one worker for each core.
usage: as photos.py (PIL has only the accurate DCT); turns.py describes the output."""
import io
import os

import photo_work
import recordpipe as rp
import torch
import turns
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class Photos(Dataset):
    """The files are in memory: only decoding is measured."""

    def __init__(self, files, transform):
        rows = rp.tfrecords(files).parse({"image/encoded": rp.FixedLenFeature([], "bytes")})
        self._files = [row["image/encoded"] for row in rows]
        self._transform = transform

    def __len__(self):
        return len(self._files)

    def __getitem__(self, index):
        image = Image.open(io.BytesIO(self._files[index])).convert("RGB")
        return self._transform(image), 0


def main():
    train, dtype, _, files = photo_work.arguments()
    steps = ([transforms.RandomResizedCrop(photo_work.CROP), transforms.RandomHorizontalFlip()]
             if train else
             [transforms.Resize(photo_work.SHORT_SIDE), transforms.CenterCrop(photo_work.CROP)])
    steps.append(transforms.PILToTensor())
    if dtype == "float32":
        steps += [transforms.ConvertImageDtype(torch.float32),
                  transforms.Normalize([m / 255 for m in photo_work.MEAN],
                                       [s / 255 for s in photo_work.STD])]
    torch.set_num_threads(1)
    loader = DataLoader(Photos(files, transforms.Compose(steps)), photo_work.BATCH, shuffle=train,
                        num_workers=len(os.sched_getaffinity(0)), drop_last=True,
                        persistent_workers=True)

    def endless():
        while True:
            yield from (images for images, _ in loader)
    batches = endless()
    turns.answer(lambda: photo_work.rate(batches))


if __name__ == "__main__":
    main()
