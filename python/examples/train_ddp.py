"""Trains on several processes (DistributedDataParallel), and resumes on any number of them.

    torchrun --nproc-per-node 4 train_ddp.py data/cifar10/train.tfrecords --checkpoint train.pt
    torchrun --nproc-per-node 2 train_ddp.py data/cifar10/train.tfrecords --checkpoint train.pt

Each process reads its own records of each batch; together they are the batches of one process, and
a saved place fits any number of processes that divides the batch. The network and the pipeline are
those of train_torch.py.
"""

import argparse
import os
from typing import Any

import recordpipe.torch as rpt
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from train_torch import network, records, save


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths")
    parser.add_argument("--batch-size", type=int, default=128, help="of all processes together")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--checkpoint", default="train.pt")
    parser.add_argument("--save-every", type=int, default=100)
    parser.add_argument("--stop-after", type=int, default=0, help="steps of this run")
    options = parser.parse_args()

    on_gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if on_gpu else "gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    if options.batch_size % ranks:
        parser.error(f"a batch of {options.batch_size} can't be divided by {ranks} processes")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(device)
    torch.manual_seed(1)
    model = network().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    # Behind the shuffle and directly before batch(): the processes divide each batch. All of them
    # have equally many, because the last batch is left out if it is incomplete.
    of_this = records(options.paths).shard(ranks, rank, drop_remainder=True)
    batches = of_this.batch(options.batch_size // ranks, drop_remainder=True).prefetch()
    loader = rpt.Loader(batches, pin_memory=on_gpu)
    if len(loader) == 0:
        parser.error("there are fewer records than a batch needs: --batch-size")
    parts: dict[str, Any] = {"model": model, "optimizer": optimizer, "loader": loader}
    if os.path.exists(options.checkpoint):
        saved = torch.load(options.checkpoint, map_location=device)
        for name, part in parts.items():
            part.load_state_dict(saved[name])  # the place of one process is that of all
        if rank == 0:
            print(f"resumed in epoch {loader.epoch}")
    wrapped = DistributedDataParallel(model, device_ids=[device] if on_gpu else None)

    step = 0
    while loader.epoch < options.epochs:
        epoch, losses = loader.epoch, []
        for batch in loader:
            images = batch["image"].to(device, non_blocking=True)
            labels = batch["label"].to(device, non_blocking=True)
            loss: Any = nn.functional.cross_entropy(wrapped(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            losses.append(loss.detach())
            is_last = step == options.stop_after
            if rank == 0 and (step % options.save_every == 0 or is_last):
                save(options.checkpoint, **parts)
            if is_last:
                return dist.destroy_process_group()
        if rank == 0:
            print(f"epoch {epoch}: mean loss {sum(losses) / max(1, len(losses)):.4f}")
    if rank == 0:
        save(options.checkpoint, **parts)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
