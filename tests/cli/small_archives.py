"""Makes small CIFAR-10 archives for tests, with Python's standard library only."""
import io
import struct
import subprocess
import tarfile

PUBLISHED_ORDER = ["data_batch_4", "readme.html", "test_batch", "data_batch_3", "batches.meta",
                   "data_batch_2", "data_batch_5", "data_batch_1"]
BATCHES = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]


def batch(name, rows):
    """Returns [(label, pixels)], which depend only on the batch's name and the row."""
    seed = BATCHES.index(name)
    images = []
    for row in range(rows):
        step = (row * 7 + seed * 3) % 11 + 1
        period = bytes((row + seed + step * i) % 256 for i in range(256))
        images.append(((row + seed) % 10, period * 12))
    return images


def pickled(images):
    """Returns a pickle in the published archive's dialect: protocol 2 as Python 2 wrote it."""
    labels = b"".join(b"K" + bytes([label]) for label, _ in images)
    pixels = b"".join(pixels for _, pixels in images)
    return (b"\x80\x02}q\x01(U\x06labelsq\x02]q\x03(" + labels + b"eU\x04dataq\x04"
            b"cnumpy.core.multiarray\n_reconstruct\nq\x05cnumpy\nndarray\nq\x06K\x00\x85U\x01b\x87R"
            b"q\x07(K\x01J" + struct.pack("<i", len(images)) + b"M\x00\x0c\x86cnumpy\ndtype\nq\x08"
            b"U\x02u1K\x00K\x01\x87Rq\x09(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
            b"\x89T" + struct.pack("<I", len(pixels)) + pixels + b"q\x0atbu.")


def python_members(rows):
    others = {"readme.html": b"<p>hello</p>", "batches.meta": b"names"}
    return {name: others.get(name) or pickled(batch(name, rows)) for name in PUBLISHED_ORDER}


def binary_members(rows):
    return {f"{name}.bin": b"".join(bytes([label]) + pixels for label, pixels in batch(name, rows))
            for name in BATCHES}


def write_archive(path, members, folder="cifar-10-batches-py"):
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(f"{folder}/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def convert_in(root, generate, rows):
    """Makes a folder in `root` with the TFRecord files of an archive with `rows` images per
    batch."""
    archive, data = root / "cifar.tar.gz", root / "data"
    write_archive(archive, python_members(rows))
    subprocess.run([generate, "--data-dir", data, "--archive", archive, "--quiet"], check=True)
    return data
