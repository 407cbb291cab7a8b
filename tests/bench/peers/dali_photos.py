"""DALI's rows of bench_photos, on the CPU. usage: as photos.py; turns.py describes the output."""
import os
import tempfile

import photo_work
import turns
from nvidia.dali import fn, pipeline_def, tfrecord, types


def write_index(path, folder):
    """DALI's index: each record's offset and size, a line each."""
    out = os.path.join(folder, os.path.basename(path) + ".idx")
    with open(path, "rb") as records, open(out, "w", encoding="utf-8") as index:
        end, at = os.path.getsize(path), 0
        while at < end:
            records.seek(at)
            size = int.from_bytes(records.read(8), "little") + 16
            index.write(f"{at} {size}\n")
            at += size
    return out


@pipeline_def
def photos(files, indexes, train, dtype, dct):
    image = fn.readers.tfrecord(
        path=files, index_path=indexes, random_shuffle=train, name="reader",
        features={"image/encoded": tfrecord.FixedLenFeature((), tfrecord.string, "")},
    )["image/encoded"]
    fast = dct == "fast"
    if train:
        image = fn.decoders.image_random_crop(
            image, device="cpu", random_area=(0.08, 1.0), random_aspect_ratio=(3 / 4, 4 / 3),
            use_fast_idct=fast)
        image = fn.resize(image, size=(photo_work.CROP, photo_work.CROP), antialias=True)
    else:
        image = fn.decoders.image(image, device="cpu", use_fast_idct=fast)
        image = fn.resize(image, resize_shorter=photo_work.SHORT_SIDE, antialias=True)
    kind = types.FLOAT if dtype == "float32" else types.UINT8
    normal = {"mean": photo_work.MEAN, "std": photo_work.STD} if dtype == "float32" else {}
    return fn.crop_mirror_normalize(
        image, crop=(photo_work.CROP, photo_work.CROP), dtype=kind, output_layout="HWC",
        mirror=fn.random.coin_flip() if train else 0, **normal)


def main():
    train, dtype, dct, files = photo_work.arguments()
    with tempfile.TemporaryDirectory() as folder:
        pipeline = photos(files, [write_index(path, folder) for path in files], train, dtype, dct,
                          batch_size=photo_work.BATCH, device_id=None,
                          num_threads=len(os.sched_getaffinity(0)), prefetch_queue_depth=2)
        pipeline.build()

    def endless():
        while True:
            yield pipeline.run()[0].as_array()
    batches = endless()
    turns.answer(lambda: photo_work.rate(batches))


if __name__ == "__main__":
    main()
