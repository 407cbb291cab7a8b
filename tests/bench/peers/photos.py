"""recordpipe's rows of bench_photos. usage: photos.py train|evaluate uint8|float32
fast|accurate|scaled FILE...; scaled: the accurate DCT, of fewer values where crops shrink. turns.py
describes the output."""
import sys

import photo_work
import recordpipe as rp
import turns


def images(train, dtype, dct, files):
    """An endless iterator of batches of images."""
    image = "image/encoded"
    ds = (rp.tfrecords(files)
          .parse({image: rp.FixedLenFeature([], "bytes"),
                  "image/class/label": rp.FixedLenFeature([], "int64")})
          .decode_image(image, channels=3, dct="fast" if dct == "fast" else "accurate",
                        dct_scaling=dct == "scaled"))
    if train:
        ds = ds.random_resized_crop(image, photo_work.CROP, flip=True, seed=7)
    else:
        ds = ds.resize(image, photo_work.SHORT_SIDE).center_crop(image, photo_work.CROP)
    if dtype == "float32":
        ds = ds.normalize(image, photo_work.MEAN, photo_work.STD)
    ds = ds.image_format(image, dtype=dtype)
    if train:
        ds = ds.shuffle(seed=7)
    batches = ds.repeat().batch(photo_work.BATCH, drop_remainder=True).prefetch()
    return (batch[image] for batch in batches)


def main():
    batches = images(*photo_work.arguments())
    turns.answer(lambda: photo_work.rate(batches))


if __name__ == "__main__":
    sys.exit(main())
