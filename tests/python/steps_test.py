"""Steps and episodes of RLDS data sets: windows beside NumPy, order, states, statistics, errors."""

import os
import pickle
import random
import unittest
import zlib

import numpy as np
import recordpipe as rp
import records
import rlds
import tfds_sets as sets
from support import FilesTest


def window_of(values, step, offsets, pad):
    """The plain twin: a window cut from the values of an episode in memory."""
    rows = []
    for offset in offsets:
        at = step + offset
        if 0 <= at < len(values):
            rows.append(values[at])
        elif pad == "edge":
            rows.append(values[0 if at < 0 else -1])
        else:
            rows.append(b"" if isinstance(values[0], bytes) else np.zeros_like(values[0]))
    return rows


def rows_of(batches):
    """The rows, comparable and hashable."""
    return [
        (int(tick), action.tobytes())
        for batch in batches
        for tick, action in zip(batch["tick"], batch["action"], strict=True)
    ]


class StepsTest(FilesTest):
    def setUp(self):
        super().setUp()
        self.data, self.episodes = rlds.write(self.folder)
        self.numbered = [
            (episode, step) for episode in self.episodes for step in range(len(episode["action"]))
        ]

    def steps(self, **arguments):
        return rp.tfds(self.data).steps(**arguments)


class Windows(StepsTest):
    def test_all_features_of_each_step_in_order(self):
        steps = self.steps()
        self.assertEqual(len(steps), len(self.numbered))
        for row, (episode, step) in zip(steps, self.numbered, strict=True):
            np.testing.assert_array_equal(row["action"], episode["action"][step])
            np.testing.assert_array_equal(row["observation"]["state"], episode["state"][step])
            self.assertEqual(row["tick"], episode["tick"][step])
            self.assertEqual(row["is_first"], step == 0)
            self.assertEqual(row["is_first"].dtype, bool)
            self.assertEqual(row["language_instruction"], episode["language_instruction"][step])
            self.assertIsInstance(row["observation"]["image"], bytes)

    def test_random_windows_equal_slices_of_the_episodes(self):
        draw = random.Random(1)
        for _ in range(12):
            pad = draw.choice(["edge", "zero"])
            offsets = {
                name: [draw.randrange(-40, 40) for _ in range(draw.randrange(1, 9))]
                for name in draw.sample(["action", "tick", "observation/state", "is_first"], 3)
            }
            batches = self.steps(offsets=offsets, pad=pad).batch(7)
            number = 0
            for batch in batches:
                for row in range(len(batch["tick"])):
                    episode, step = self.numbered[number]
                    number += 1
                    for name, window in offsets.items():
                        *parents, last = name.split("/")
                        found = batch["observation"] if parents else batch
                        expected = window_of(episode[last], step, window, pad)
                        np.testing.assert_array_equal(found[last][row], expected, name)
                        real = [0 <= step + o < len(episode["tick"]) for o in window]
                        mask = found.get(f"{last}_mask")
                        if any(window):
                            np.testing.assert_array_equal(mask[row], real)
                            self.assertEqual(mask.dtype, bool)
                        else:
                            self.assertIsNone(mask)
            self.assertEqual(number, len(self.numbered))

    def test_text_and_subtrees_have_windows(self):
        batch = next(
            iter(
                self.steps(
                    offsets={"language_instruction": [0, 1], "observation": range(-1, 1)},
                    pad="zero",
                ).batch(len(self.numbered))
            )
        )
        self.assertEqual(batch["language_instruction"].shape, (61, 2))
        self.assertEqual(batch["language_instruction"][4].tolist(), [b"pick up block 0", b""])
        self.assertEqual(batch["observation"]["state"].shape, (61, 2, 3))
        self.assertEqual(batch["observation"]["image"].shape, (61, 2))
        self.assertEqual(batch["observation_mask"][0].tolist(), [False, True])

    def test_features_are_chosen_renamed_and_those_of_episodes(self):
        steps = self.steps(
            features={
                "cam": "observation/image",
                "robot": "episode_metadata",
                "act": "action",
            },
            offsets={"act": range(2)},
        )
        for row, (episode, step) in zip(steps, self.numbered, strict=True):
            self.assertEqual(list(row), ["cam", "robot", "act", "act_mask"])
            self.assertEqual(row["robot"]["number"], episode["number"])
            self.assertEqual(row["robot"]["file_path"], b"episode_%d" % episode["number"])
            np.testing.assert_array_equal(
                row["act"], window_of(episode["action"], step, range(2), "edge")
            )
        self.assertEqual(list(self.steps(features=["tick", "action"])[0]), ["tick", "action"])

    def test_rows_by_number(self):
        steps = self.steps(offsets={"action": [0, 1]})
        self.assertEqual(steps[-1]["tick"], self.numbered[-1][0]["tick"][-1])
        self.assertEqual(
            [row["tick"] for row in steps[3:6]],
            [episode["tick"][step] for episode, step in self.numbered[3:6]],
        )
        with self.assertRaises(IndexError):
            steps[len(steps)]

    def test_a_split_has_the_steps_of_its_episodes(self):
        steps = rp.tfds(self.data, "train[3:5]").steps()
        self.assertEqual(len(steps), 17 + 30)
        np.testing.assert_array_equal(steps[0]["action"], self.episodes[3]["action"][0])


class Bools(FilesTest):
    def test_encoded_ones_are_one_or_zero_as_those_of_tfds(self):
        stored = b"\0\2\1\xff"
        tree = sets.tree(
            steps=sets.sequence(
                sets.tree(
                    plain=sets.tensor("bool", 4, encoding="bytes"),
                    packed=sets.tensor("bool", 4, encoding="zlib"),
                ),
                name="Dataset",
            )
        )
        example = records.example(
            {"steps/plain": [stored] * 2, "steps/packed": [zlib.compress(stored)] * 2}
        )
        data = rp.tfds(sets.write(self.folder, tree, {"train": [[example]]}))
        (batch,) = data.steps().batch(2)
        for name in ("plain", "packed"):
            self.assertEqual(batch[name].dtype, bool)
            found = batch[name].view(np.uint8)
            np.testing.assert_array_equal(found, [[0, 1, 1, 1]] * 2, name)
            np.testing.assert_array_equal(found, data[0]["steps"][name].view(np.uint8), name)


class Images(StepsTest):
    def test_windows_of_decoded_images(self):
        batches = (
            self.steps(offsets={"observation": range(-2, 2)})
            .decode_image("observation/image")
            .batch(5)
        )
        number = 0
        for batch in batches:
            self.assertEqual(batch["observation"]["image"].shape[1:], (4, 12, 16, 3))
            for images in batch["observation"]["image"]:
                episode, step = self.numbered[number]
                number += 1
                expected = window_of(episode["image"], step, range(-2, 2), "edge")
                np.testing.assert_array_equal(images, expected)

    def test_image_operators_are_those_of_other_datasets(self):
        def operators(ds, image):
            return (
                ds.decode_image(image)
                .resize(image, (6, 8))
                .normalize(image, 127.0, 64.0)
                .image_format(image, layout="NCHW")
            )

        files = self.folder / "images.tfrecord"
        rp.write_tfrecords(
            files,
            [{"image": rlds.png(episode["image"][step])} for episode, step in self.numbered],
        )
        plain = rp.tfrecords(files).parse({"image": rp.FixedLenFeature([], "bytes")})
        expected = next(iter(operators(plain, "image").batch(100)))["image"]
        found = next(iter(operators(self.steps(), "observation/image").batch(100)))
        np.testing.assert_array_equal(found["observation"]["image"], expected)
        single = operators(self.steps(), "observation/image")[9]
        np.testing.assert_array_equal(single["observation"]["image"], expected[9])

    def test_padding_with_zeros(self):
        steps = self.steps(offsets={"observation": [-1, 0]}, pad="zero")
        with self.assertRaisesRegex(rp.InvalidArgumentError, "resize"):
            next(iter(steps.decode_image("observation/image").batch(2)))
        for operators in ({"size": (6, 8)}, {"size": (12, 16)}):
            ds = steps.decode_image("observation/image").resize("observation/image", **operators)
            images = next(iter(ds.batch(len(self.numbered))))["observation"]["image"]
            for row, (episode, step) in zip(images, self.numbered, strict=True):
                self.assertEqual(row[0].any(), step > 0)
                if operators["size"] == (12, 16):
                    np.testing.assert_array_equal(row[1], episode["image"][step])

    def test_random_crops_are_those_of_all_images_of_a_window(self):
        ds = (
            self.steps(offsets={"observation": [0, 0]})
            .decode_image("observation/image")
            .random_resized_crop("observation/image", 8, seed=3)
            .shuffle(seed=1)
            .batch(4)
        )
        first = [batch["observation"]["image"] for batch in ds.epoch(0)]
        for images in first:
            np.testing.assert_array_equal(images[:, 0], images[:, 1])
        again = [batch["observation"]["image"] for batch in ds.with_options(threads=5).epoch(0)]
        for a, b in zip(first, again, strict=True):
            np.testing.assert_array_equal(a, b)
        other = [batch["observation"]["image"] for batch in ds.epoch(1)]
        self.assertFalse(all(np.array_equal(a, b) for a, b in zip(first, other, strict=True)))


class Order(StepsTest):
    def test_shuffles_are_permutations_and_shards_disjoint(self):
        everything = sorted(rows_of(self.steps().batch(9)))
        for shuffled in (self.steps().shuffle(20, seed=3), self.steps().shuffle(seed=3)):
            self.assertEqual(sorted(rows_of(shuffled.batch(9))), everything)
            self.assertNotEqual(rows_of(shuffled.epoch(0).batch(9)), everything)
            of_workers = [
                row for i in range(3) for row in rows_of(shuffled.epoch(0).shard(3, i).batch(4))
            ]
            self.assertEqual(sorted(of_workers), everything)

    def test_states_resume_anywhere_at_other_thread_counts(self):
        pipeline = (
            self.steps(offsets={"action": range(-1, 3)})
            .decode_image("observation/image")
            .random_resized_crop("observation/image", 8, seed=3)
            .shuffle(30, seed=2)
            .repeat(2)
            .batch(6)
            .prefetch()
        )
        expected = [(batch["action"], batch["observation"]["image"]) for batch in pipeline.epoch(0)]
        draw = random.Random(4)
        for _ in range(6):
            first = iter(pipeline.with_options(threads=draw.randrange(1, 5)).epoch(0))
            count = draw.randrange(len(expected))
            for _ in range(count):
                next(first)
            state = first.state_dict()
            second = iter(pipeline.with_options(threads=draw.randrange(1, 5)).epoch(0))
            second.load_state_dict(state)
            rest = list(second)
            self.assertEqual(len(rest), len(expected) - count)
            for batch, (action, image) in zip(rest, expected[count:], strict=True):
                np.testing.assert_array_equal(batch["action"], action)
                np.testing.assert_array_equal(batch["observation"]["image"], image)

    def test_pickles_have_the_same_rows(self):
        ds = self.steps(offsets={"action": range(2)}, pad="zero").shuffle(seed=5).epoch(0).batch(8)
        self.assertEqual(rows_of(pickle.loads(pickle.dumps(ds))), rows_of(ds))

    def test_mixtures_of_data_sets_with_other_names(self):
        other, _ = rlds.write(self.folder, 9, (4, 9), name="other", camera="front")
        third, _ = rlds.write(self.folder, 10, (20,), 1, name="third")

        def rows(folder, camera):
            return (
                rp.tfds(folder)
                .steps(
                    features={
                        "camera": f"observation/{camera}",
                        "action": "action",
                        "tick": "tick",
                    },
                    offsets={"action": range(4)},
                )
                .decode_image("camera")
                .resize("camera", (8, 8))
                .shuffle(16, seed=1)
            )

        parts = [rows(self.data, "image"), rows(other, "front"), rows(third, "image")]
        mixture = rp.sample_from_datasets(parts, [0.5, 0.3, 0.2], seed=7).batch(5).epoch(0)
        found = rows_of(mixture)
        self.assertEqual(
            sorted(found), sorted(row for part in parts for row in rows_of(part.epoch(0).batch(5)))
        )
        iterator = iter(mixture)
        for _ in range(6):
            batch = next(iterator)
            self.assertEqual(batch["camera"].shape, (5, 8, 8, 3))
        state = iterator.state_dict()
        restored = iter(mixture.with_options(threads=3))
        restored.load_state_dict(state)
        self.assertEqual(rows_of(restored), found[30:])

    def test_memory_of_a_batch_is_leased(self):
        iterator = iter(self.steps().batch(4).repeat(20))
        kept = next(iterator)
        before = kept["action"].copy()
        for batch in iterator:
            del batch
        np.testing.assert_array_equal(kept["action"], before)
        self.assertLess(iterator.stats()["batches_allocated"], 8)


class Episodes(StepsTest):
    def test_map_episode_has_arrays_over_the_steps_and_encoded_images(self):
        def lengths(episode):
            images = episode["steps"]["observation"]["image"]
            self.assertTrue(all(isinstance(image, bytes) for image in images))
            return len(images), episode["steps"]["action"]

        ds = rp.tfds(self.data).map_episode(lengths)
        found = list(ds)
        for (count, actions), episode in zip(found, self.episodes, strict=True):
            self.assertEqual(count, len(episode["action"]))
            np.testing.assert_array_equal(actions, episode["action"])
        shuffled = rp.tfds(self.data).shuffle(seed=2).map_episode(lengths)
        self.assertEqual(
            sorted(count for count, _ in shuffled), sorted(count for count, _ in found)
        )

    def test_statistics_are_numpys(self):
        source = rp.tfds(self.data)
        actions = np.concatenate([episode["action"] for episode in self.episodes]).astype(float)
        for _ in range(2):  # computed, then kept
            found = rp.episode_statistics(source, ["action", "observation/state", "tick"])
            self.assertEqual((found.episodes, found.steps), (6, len(actions)))
            action = found["action"]
            for name, expected in {
                "mean": actions.mean(0),
                "std": actions.std(0),
                "min": actions.min(0),
                "max": actions.max(0),
                "q01": np.quantile(actions, 0.01, axis=0),
                "q99": np.quantile(actions, 0.99, axis=0),
            }.items():
                np.testing.assert_allclose(
                    getattr(action, name), expected, rtol=1e-12, err_msg=name
                )
            self.assertEqual(found["tick"].mean.shape, ())
            self.assertEqual(found["observation/state"].std.shape, (3,))
        self.assertEqual(len(list(self.data.glob("statistics-*.json"))), 1)
        again = rp.episode_statistics(source, ["action"], keep=False, threads=7)
        np.testing.assert_array_equal(again["action"].mean, found["action"].mean)

    def test_statistics_of_other_features_are_refused(self):
        for name in ("language_instruction", "observation/image", "episode_metadata/number"):
            with self.assertRaises(rp.InvalidArgumentError):
                rp.episode_statistics(rp.tfds(self.data), [name])


class Errors(StepsTest):
    def test_steps_follow_tfds_directly(self):
        for ds in (rp.tfds(self.data).shuffle(4), self.steps(), rp.from_list([1])):
            with self.assertRaisesRegex(TypeError, "what tfds"):
                ds.steps()
        with self.assertRaisesRegex(TypeError, "what tfds"):
            rp.episode_statistics(self.steps(), ["action"])
        with self.assertRaisesRegex(ValueError, "check_crc"):
            rp.tfds(self.data, check_crc=False).steps()

    def test_wrong_arguments(self):
        with self.assertRaisesRegex(rp.InvalidArgumentError, "'act'.*there are"):
            self.steps(features=["act"])
        with self.assertRaisesRegex(rp.InvalidArgumentError, "no feature of a row"):
            self.steps(offsets={"act": [0]})
        with self.assertRaises(ValueError):
            self.steps(pad="wrap")
        with self.assertRaises(ValueError):
            self.steps(features=[])
        with self.assertRaises(TypeError):
            self.steps(features="action")
        with self.assertRaises(TypeError):
            self.steps(offsets={"action": [0.5]})
        with self.assertRaisesRegex(rp.InvalidArgumentError, "not an image"):
            self.steps().decode_image("action")

    def test_the_index_is_beside_the_files_or_in_the_cache(self):
        self.steps()
        indexes = sorted(self.data.glob("*.steps"))
        self.assertEqual(len(indexes), 2)
        indexes[0].write_bytes(b"damaged")
        indexes[1].unlink()
        indexes[1].mkdir()  # nothing can be written there
        cache = self.folder / "cache"
        before = os.environ.get("XDG_CACHE_HOME")
        os.environ["XDG_CACHE_HOME"] = str(cache)
        try:
            self.assertEqual(len(self.steps()), len(self.numbered))
            self.assertEqual(len(list((cache / "recordpipe/rlds").iterdir())), 1)
            self.assertEqual(len(self.steps()), len(self.numbered))
        finally:
            if before is None:
                del os.environ["XDG_CACHE_HOME"]
            else:
                os.environ["XDG_CACHE_HOME"] = before

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

    def test_steps_have_no_arrow_columns(self):
        with self.assertRaises(rp.UnsupportedError):
            self.steps().__arrow_c_stream__()


if __name__ == "__main__":
    unittest.main()
