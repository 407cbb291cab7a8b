"""Runs the training pipeline in tf.data. usage: tf_data.py FILE; turns.py describes the output.

Variants: one image at a time with the tutorial's operations; and vectorised, batched first, then
cropped and flipped by one gather or by one projective transformation. Each with and without caching
the records or the parsed values in memory after the first epoch. With AUTOTUNE wherever it is
supported, and nondeterministic order.
"""
import os
import sys

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")

import tensorflow as tf  # noqa: E402
from turns import BATCH_SIZE, serve  # noqa: E402

AUTOTUNE = tf.data.AUTOTUNE
SHUFFLE_BUFFER = 16_384
FEATURES = {"image": tf.io.FixedLenFeature([], tf.string),
            "label": tf.io.FixedLenFeature([], tf.int64)}


def parse(record):
    features = tf.io.parse_single_example(record, FEATURES)
    image = tf.reshape(tf.io.decode_raw(features["image"], tf.uint8), [3, 32, 32])
    return image, tf.cast(features["label"], tf.int32)


def parse_batch(records):
    features = tf.io.parse_example(records, FEATURES)
    images = tf.reshape(tf.io.decode_raw(features["image"], tf.uint8), [-1, 3, 32, 32])
    return images, tf.cast(features["label"], tf.int32)


def distort(image, label):
    image = tf.transpose(image, [1, 2, 0])
    image = tf.image.resize_with_crop_or_pad(image, 40, 40)
    image = tf.image.random_crop(image, [32, 32, 3])
    return tf.cast(tf.image.random_flip_left_right(image), tf.float32), label


def distort_by_gather(images, labels):
    count = tf.shape(images)[0]
    padded = tf.transpose(tf.pad(images, [[0, 0], [0, 0], [4, 4], [4, 4]]), [0, 2, 3, 1])
    top, left = tf.unstack(tf.random.uniform([2, count, 1], 0, 9, tf.int32))
    columns = tf.range(32)[tf.newaxis]
    flip = tf.random.uniform([count, 1], 0, 2, tf.int32) == 1
    columns = tf.where(flip, 31 - columns, columns) + left
    rows = tf.range(32)[tf.newaxis] + top + 40 * tf.range(count)[:, tf.newaxis]
    pixels = 40 * rows[:, :, tf.newaxis] + columns[:, tf.newaxis]
    return tf.cast(tf.gather(tf.reshape(padded, [-1, 3]), pixels), tf.float32), labels


def distort_by_projection(images, labels):
    count = tf.shape(images)[0]
    top, left = tf.unstack(tf.cast(tf.random.uniform([2, count], -4, 5, tf.int32), tf.float32))
    flip = tf.random.uniform([count], 0, 2, tf.int32) == 1
    zero = tf.zeros([count])
    transforms = tf.stack([tf.where(flip, -1.0, 1.0), zero, tf.where(flip, 31.0, 0.0) + left,
                           zero, zero + 1, top, zero, zero], axis=1)
    crops = tf.raw_ops.ImageProjectiveTransformV3(
        images=tf.transpose(images, [0, 2, 3, 1]), transforms=transforms, output_shape=[32, 32],
        interpolation="NEAREST", fill_mode="CONSTANT", fill_value=0.0)
    return tf.cast(crops, tf.float32), labels


def finish(batches):
    options = tf.data.Options()
    options.deterministic = False
    return batches.prefetch(AUTOTUNE).with_options(options)


def per_image(records):
    images = records.shuffle(SHUFFLE_BUFFER).repeat().map(
        lambda record: distort(*parse(record)), num_parallel_calls=AUTOTUNE)
    return finish(images.batch(BATCH_SIZE, drop_remainder=True))


def per_image_parsed(records):
    images = records.map(parse).cache().shuffle(SHUFFLE_BUFFER).repeat()
    return finish(images.map(distort, num_parallel_calls=AUTOTUNE).batch(
        BATCH_SIZE, drop_remainder=True))


def vectorised(records, distort_images):
    batches = records.shuffle(SHUFFLE_BUFFER).repeat().batch(BATCH_SIZE, drop_remainder=True)
    return finish(batches.map(lambda batch: distort_images(*parse_batch(batch)),
                              num_parallel_calls=AUTOTUNE))


def vectorised_parsed(records, distort_images):
    images = records.map(parse).cache().shuffle(SHUFFLE_BUFFER).repeat()
    return finish(images.batch(BATCH_SIZE, drop_remainder=True).map(
        distort_images, num_parallel_calls=AUTOTUNE))


def main():
    records = tf.data.TFRecordDataset(sys.argv[1])
    variants = {
        "an image at a time": lambda: per_image(records),
        "an image at a time, parsed once": lambda: per_image_parsed(records),
    }
    for way, distort_images in {"gather": distort_by_gather,
                                "projection": distort_by_projection}.items():
        variants |= {
            f"vectorised by {way}": lambda d=distort_images: vectorised(records, d),
            f"vectorised by {way}, read once": lambda d=distort_images: vectorised(
                records.cache(), d),
            f"vectorised by {way}, parsed once": lambda d=distort_images: vectorised_parsed(
                records, d),
        }
    serve(variants)


if __name__ == "__main__":
    main()
