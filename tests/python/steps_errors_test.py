"""Steps of RLDS data sets: what is refused, damaged data, and where the index is."""

import json
import os
import unittest
import warnings
from unittest import mock

import numpy as np
import recordpipe as rp
import rlds


class Errors(rlds.StepsTest):
    def test_steps_follow_tfds_directly(self):
        for ds in (rp.tfds(self.data).shuffle(4), self.steps(), rp.from_list([1])):
            with self.assertRaisesRegex(TypeError, r"behind tfds|episodes of tfds"):
                ds.steps()
        with self.assertRaisesRegex(TypeError, "directly behind tfds"):
            rp.episode_statistics(self.steps(), ["action"])
        with self.assertRaisesRegex(TypeError, r"episodes of tfds\(folder\), not 'arm/1\.0\.0'"):
            rp.episode_statistics("arm/1.0.0", ["action"])
        with self.assertRaisesRegex(ValueError, "check_crc"):
            rp.tfds(self.data, check_crc=False).steps()

    def test_wrong_arguments(self):
        with self.assertRaisesRegex(rp.InvalidArgumentError, "'acton'.*there are.*mean action"):
            self.steps(features=["acton"])
        with self.assertRaisesRegex(rp.InvalidArgumentError, "no feature of a row.*'action'"):
            self.steps(offsets={"act": [0]})
        for offsets in (range(8), {"action": 8}):
            with self.assertRaisesRegex(TypeError, r'\{"action": range\(8\)\}'):
                self.steps(offsets=offsets)
        with self.assertRaises(ValueError):
            self.steps(pad="wrap")
        with self.assertRaises(ValueError):
            self.steps(features=[])
        with self.assertRaises(TypeError):
            self.steps(features="action")
        with self.assertRaises(TypeError):
            self.steps(offsets={"action": [0.5]})
        with self.assertRaisesRegex(rp.InvalidArgumentError, "not an image.*bytes are .*image"):
            self.steps().decode_image("action")
        with self.assertRaisesRegex(rp.InvalidArgumentError, "of the channels of an image.*map"):
            self.steps().normalize("action", [0.0] * 7, [1.0] * 7)
        with self.assertRaisesRegex(rp.InvalidArgumentError, r"steps\(\).*and before map"):
            self.steps().map(lambda step: step).decode_image("observation/image")

    def test_the_index_is_beside_the_files_or_in_the_cache(self):
        self.steps()
        indexes = sorted(self.data.glob("*.steps"))
        self.assertEqual(len(indexes), 2)
        indexes[0].write_bytes(b"damaged")
        indexes[1].unlink()
        indexes[1].mkdir()  # nothing can be written there
        cache = self.folder / "cache"
        with mock.patch.dict(os.environ, XDG_CACHE_HOME=str(cache)):
            self.assertEqual(len(self.steps()), len(self.numbered))
            self.assertEqual(len(list((cache / "recordpipe/rlds").iterdir())), 1)
            self.assertEqual(len(self.steps()), len(self.numbered))

    def test_a_warning_says_where_the_index_and_the_statistics_are_kept(self):
        with self.assertWarnsRegex(UserWarning, r"are kept in .*arm-train.*\.steps and 1 more$"):
            self.steps()
        with self.assertWarnsRegex(UserWarning, r"statistics are kept in .*/statistics-.*\.json"):
            rp.episode_statistics(rp.tfds(self.data), ["action"])
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # the second time, nothing is new
            self.steps()
            rp.episode_statistics(rp.tfds(self.data), ["action"])

    def test_statistics_are_in_the_cache_if_the_folder_cant_be_written(self):
        def action():
            return rp.episode_statistics(rp.tfds(self.data), ["action"])["action"]

        def keep_none():
            for path in self.data.glob("statistics-*"):
                if path.is_file():
                    path.unlink()
                    path.mkdir()  # nothing can be written there, also by root

        expected = action().mean.tolist()
        keep_none()
        cache = self.folder / "cache"
        with mock.patch.dict(os.environ, XDG_CACHE_HOME=str(cache)):
            self.assertEqual(action().mean.tolist(), expected)
            (kept,) = (cache / "recordpipe/rlds").iterdir()
            document = json.loads(kept.read_text())
            document["features"][0]["mean"][0] = 12345.0
            kept.write_text(json.dumps(document))
            self.assertEqual(action().mean[0], 12345)  # they are used
            # Other values of the same number of bytes.
            path = min(self.data.glob("*.tfrecord-?????-of-?????"))
            examples = [rlds.example(episode) for episode in self.episodes[:3]]
            examples[0]["steps/action"] += 1
            size = path.stat().st_size
            rp.write_tfrecords(path, examples)
            self.assertEqual(path.stat().st_size, size)
            changed = action().mean.tolist()
            keep_none()
            self.assertEqual(action().mean.tolist(), changed)
            self.assertEqual(len(list((cache / "recordpipe/rlds").iterdir())), 2)
        self.assertAlmostEqual(changed[0], expected[0] + 5 / len(self.numbered))

    def test_patterns_of_files_leave_the_index_out(self):
        before = list(rp.tfrecords(self.data / "arm-train*"))
        self.steps()
        self.assertEqual(list(rp.tfrecords(self.data / "arm-train*")), before)

    def test_a_damaged_record_is_named(self):
        path = sorted(self.data.glob("*.tfrecord-*"))[0]
        content = bytearray(path.read_bytes())
        content[200] ^= 1
        path.write_bytes(content)
        with self.assertRaises(rp.DataLossError) as caught:
            self.steps()
        self.assertEqual((caught.exception.path, caught.exception.offset), (str(path), 0))

    def test_a_broken_image_follows_ignore_errors(self):
        rng = np.random.default_rng(3)
        episode = rlds.example(rlds.random_episode(rng, 0, 5))
        episode["steps/observation/image"][2] = b"not an image"
        path = next(iter(sorted(self.data.glob("*.tfrecord-*"))))
        rp.write_tfrecords(path, [episode, *[rlds.example(e) for e in self.episodes[1:3]]])
        ds = self.steps().decode_image("observation/image")
        with self.assertRaisesRegex(rp.UnsupportedError, "observation/image"):
            list(ds)
        iterator = iter(ds.ignore_errors())
        self.assertEqual(len(list(iterator)), len(self.numbered) - 1)
        # An offset of the record in the file: the first one.
        self.assertEqual(iterator.stats()["first_skipped"][0][:2], (str(path), 0))
        # Steps that don't need the image are not affected.
        self.assertEqual(len(list(self.steps(features=["action"]))), len(self.numbered))

    def test_ignore_errors_of_datasets_with_other_columns_at_a_time(self):
        names = (["action"], ["tick"], ["language_instruction", "observation/image"])
        passes = [
            iter(self.steps(features=chosen).ignore_errors().with_options(threads=1))
            for chosen in names
        ]
        for rows in zip(*passes, strict=True):
            self.assertEqual([[*row] for row in rows], [["action"], ["tick"], [*rows[2]]])

    def test_images_of_different_size_are_refused(self):
        with self.assertRaisesRegex(rp.InvalidArgumentError, "resize"):
            self.steps().decode_image("observation/image").image_format(
                "observation/image", sizes="list"
            )


if __name__ == "__main__":
    unittest.main()
