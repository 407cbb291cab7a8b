"""tf.data's rows of bench_photos. usage: as photos.py; turns.py describes the output."""
import os

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")

import photo_work  # noqa: E402
import tensorflow as tf  # noqa: E402
import turns  # noqa: E402

FEATURES = {"image/encoded": tf.io.FixedLenFeature([], tf.string),
            "image/class/label": tf.io.FixedLenFeature([], tf.int64)}


def main():
    train, dtype, dct, files = photo_work.arguments()
    method = {"fast": "INTEGER_FAST", "accurate": "INTEGER_ACCURATE"}[dct]

    def decode(record):
        example = tf.io.parse_single_example(record, FEATURES)
        file = example["image/encoded"]
        shape = tf.io.extract_jpeg_shape(file)
        if train:
            begin, size, _ = tf.image.sample_distorted_bounding_box(
                shape, tf.zeros([1, 0, 4]), aspect_ratio_range=(3 / 4, 4 / 3),
                area_range=(0.08, 1.0), use_image_if_no_bounding_boxes=True)
            window = tf.stack([begin[0], begin[1], size[0], size[1]])
            image = tf.io.decode_and_crop_jpeg(file, window, channels=3, dct_method=method,
                                               fancy_upscaling=dct == "accurate")
            image = tf.image.resize(image, [photo_work.CROP, photo_work.CROP])
            image = tf.image.random_flip_left_right(image)
        else:
            image = tf.io.decode_jpeg(file, channels=3, dct_method=method)
            short = tf.cast(tf.minimum(shape[0], shape[1]), tf.float32)
            size = tf.cast(tf.cast(shape[:2], tf.float32) * photo_work.SHORT_SIDE / short, tf.int32)
            image = tf.image.resize(image, size, antialias=True)
            corner = (size - photo_work.CROP) // 2
            image = tf.slice(image, [corner[0], corner[1], 0],
                             [photo_work.CROP, photo_work.CROP, 3])
        if dtype == "float32":
            image = (image - photo_work.MEAN) / photo_work.STD
        else:
            image = tf.cast(tf.round(image), tf.uint8)
        return image, example["image/class/label"]

    records = tf.data.TFRecordDataset(files)
    if train:
        records = records.shuffle(2_000)
    options = tf.data.Options()
    options.deterministic = False
    batches = iter(records.repeat().map(decode, num_parallel_calls=tf.data.AUTOTUNE)
                   .batch(photo_work.BATCH, drop_remainder=True)
                   .prefetch(tf.data.AUTOTUNE).with_options(options))
    turns.answer(lambda: photo_work.rate(images for images, _ in batches))


if __name__ == "__main__":
    main()
