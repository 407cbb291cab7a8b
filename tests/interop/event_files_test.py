"""Reads the trainer's event files with TensorFlow and TensorBoard. Part of interop_test.py.

RECORDPIPE_WRITE_EVENTS is the program of write_events.cc.
"""
import os
import subprocess
import sys

import numpy as np
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.plugin_event_accumulator import (
    EventAccumulator as PluginEventAccumulator)
from tensorboard.compat.proto import event_pb2, summary_pb2

from tfrecord_test_case import TfrecordTest


def random_values():
    """Values of both signs and all magnitudes; no zero: TensorFlow counts it one bucket higher."""
    random = np.random.default_rng(1)
    values = random.standard_normal(5000) * 10.0 ** random.integers(-14, 22, 5000)
    return values.astype("<f4")


def random_images():
    """The first has negative values, the second has none, and the third has infinity and NaN."""
    images = np.random.default_rng(2).standard_normal((5, 8, 6, 3)).astype("<f4")
    images[1] = np.abs(images[1])
    images[2, 3, 2, 1] = np.inf
    images[2, 7, 5, 0] = np.nan
    return images


class EventFiles(TfrecordTest):
    def setUp(self):
        super().setUp()
        random_values().tofile(self.folder / "values")
        random_images().tofile(self.folder / "images")
        self.logs = self.folder / "logs"
        subprocess.run([os.environ["RECORDPIPE_WRITE_EVENTS"], self.logs, self.folder / "values",
                        self.folder / "images"], check=True)
        self.files = sorted(self.logs.iterdir())

    def events(self, path):
        return [event_pb2.Event.FromString(record.numpy())
                for record in tf.data.TFRecordDataset(str(path))]

    def summary_values(self):
        return {value.tag: value for value in self.events(self.files[0])[12].summary.value}

    def test_are_byte_for_byte_what_tensorboards_classes_write(self):
        for path in self.files:
            for record in tf.data.TFRecordDataset(str(path)):
                event = event_pb2.Event.FromString(record.numpy())
                self.assertEqual(event.SerializeToString(deterministic=True), record.numpy())

    def test_hold_what_happened(self):
        first, second = [self.events(path) for path in self.files]
        self.assertEqual([event.WhichOneof("what") for event in first],
                         ["file_version", "session_log", *["summary"] * 11, "session_log",
                          "session_log"])
        self.assertEqual(first[0].file_version, "brain.Event:2")
        self.assertEqual([first[i].session_log.status for i in (1, 13, 14)],
                         [event_pb2.SessionLog.START, event_pb2.SessionLog.CHECKPOINT,
                          event_pb2.SessionLog.STOP])
        self.assertEqual(first[13].session_log.checkpoint_path, "checkpoint")
        self.assertEqual([event.step for event in second], [0, 6, 6, 7, 8, 8, 8, 8])

    def test_histograms_are_tensorflows(self):
        theirs = summary_pb2.Summary.FromString(
            tf.raw_ops.HistogramSummary(tag="weights", values=random_values()).numpy()).value[0]
        ours = self.summary_values()["weights"]
        self.assertEqual(ours.histo.bucket_limit, theirs.histo.bucket_limit)
        self.assertEqual(ours.histo.bucket, theirs.histo.bucket)
        self.assertEqual(ours.histo, theirs.histo)

    def test_images_are_tensorflows(self):
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            summary = tf.compat.v1.summary.image("input", random_images(), max_outputs=3)
            theirs = summary_pb2.Summary.FromString(session.run(summary))
        ours = self.summary_values()
        self.assertEqual(len(theirs.value), 3)
        for value in theirs.value:
            image, expected = ours[value.tag].image, value.image
            self.assertEqual((image.height, image.width, image.colorspace),
                             (expected.height, expected.width, expected.colorspace))
            np.testing.assert_array_equal(tf.io.decode_png(image.encoded_image_string),
                                          tf.io.decode_png(expected.encoded_image_string))

    def test_tensorboard_reads_them_without_the_steps_that_were_lost(self):
        events = EventAccumulator(str(self.logs))
        events.Reload()
        self.assertEqual([(event.step, event.value) for event in events.Scalars("loss")],
                         [(step, 1) for step in range(1, 6)] + [(step, 2) for step in range(6, 9)])
        (histogram,) = events.Histograms("weights")
        self.assertEqual(histogram.step, 8)
        self.assertEqual(histogram.histogram_value.num, 5000)
        for i in range(3):
            (image,) = events.Images(f"input/image/{i}")
            self.assertEqual((image.step, image.height, image.width), (8, 8, 6))

    def test_tensorboards_plugins_understand_them(self):
        """The plugins use TensorBoard's converted form: tensors."""
        events = PluginEventAccumulator(str(self.logs))
        events.Reload()
        self.assertEqual([tf.make_ndarray(event.tensor_proto) for event in events.Tensors("loss")],
                         [1] * 5 + [2] * 3)
        (histogram,) = events.Tensors("weights")
        self.assertEqual(tf.make_ndarray(histogram.tensor_proto)[:, 2].sum(), 5000)
        plugins = {tag: events.SummaryMetadata(tag).plugin_data.plugin_name
                   for tag in ("loss", "weights", "input/image/0")}
        self.assertEqual(plugins, {"loss": "scalars", "weights": "histograms",
                                   "input/image/0": "images"})

    def test_tensorboard_inspects_them(self):
        told = subprocess.run([sys.executable, "-m", "tensorboard.main", "--inspect",
                               "--event_file", self.files[0]],
                              check=True, capture_output=True, text=True).stdout
        words = " ".join(told.split())
        for expected in (
                "histograms weights images input/image/0 input/image/1 input/image/2 scalars loss",
                "histograms first_step 10 last_step 10 max_step 10 min_step 10 num_steps 1",
                "images first_step 10 last_step 10 max_step 10 min_step 10 num_steps 1",
                "scalars first_step 1 last_step 10 max_step 10 min_step 1 num_steps 10",
                "sessionlog:checkpoint first_step 10 last_step 10",
                "sessionlog:start outoforder_steps [] steps [1]",
                "sessionlog:stop outoforder_steps [] steps [10]"):
            self.assertIn(expected, words)
