"""Runs airbench94_muon.py (https://github.com/KellerJordan/cifar10-airbench) on the CPU, on the files
of our training, once.

usage: airbench_on_cpu.py AIRBENCH94_MUON DATA_DIR EPOCHS PRECISION [compile]

The program's text is read from a copy of yours and changed where it must be: the device, half
precision (PRECISION is fp32 or bf16), where its data come from, the number of epochs, and that
nothing is compiled without `compile`. It prints its table of accuracies; the last line is the time
since this program was started.
"""
import os
import pathlib
import re
import sys
import tempfile
import time

START = time.perf_counter()

import torch
from torch_training import read


class Event:
    """torch.cuda.Event, for work that is done when the call returns."""

    def __init__(self, enable_timing):
        del enable_timing

    def record(self):
        self._time = time.perf_counter()

    def elapsed_time(self, later):
        return 1000 * (later._time - self._time)


def changed(text, epochs, precision, compiled):
    def replace(pattern, by):
        nonlocal text
        text, count = re.subn(pattern, by, text)
        if count == 0:
            raise SystemExit(f"the program has no {pattern}: this is not the version expected")

    replace(r"\.half\(\)", {"fp32": ".float()", "bf16": ".bfloat16()"}[precision])
    replace(r'torch\.device\("cuda"\)', '"cpu"')
    replace(r"ceil\(8 \* len", f"ceil({epochs} * len")
    replace(r"ceil\(3 \* len", f"ceil({3 / 8 * epochs} * len")
    if not compiled:
        replace(r"@torch\.compile\n", "")
    return text


def save_data(data_dir, folder):
    for name, files in (("train", ("train", "validation")), ("test", ("eval",))):
        images, labels = zip(*(read(data_dir / f"{file}.tfrecords") for file in files))
        torch.save({"images": torch.cat(images).permute(0, 2, 3, 1).contiguous(),
                    "labels": torch.cat(labels), "classes": None}, folder / f"{name}.pt")


def main():
    program, data_dir, epochs, precision, *compiled = sys.argv[1:]
    torch.cuda.Event, torch.cuda.synchronize = Event, lambda: None
    text = pathlib.Path(program).read_text(encoding="utf-8")
    module = {"__name__": "airbench"}
    sys.argv = [program]
    exec(compile(changed(text, float(epochs), precision, bool(compiled)), program, "exec"), module)
    data_dir = pathlib.Path(data_dir).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        folder = pathlib.Path("cifar10")
        folder.mkdir()
        save_data(data_dir, folder)
        model = module["CifarNet"]().to(memory_format=torch.channels_last)
        if compiled:
            model.compile()
        module["print_columns"](module["logging_columns_list"], is_head=True)
        module["main"](0, model)
        os.chdir("/")
    print(f"{time.perf_counter() - START:.1f} s since the start, on {torch.get_num_threads()} threads")


if __name__ == "__main__":
    main()
