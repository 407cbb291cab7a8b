"""Steps and episodes of RLDS data sets: windows beside NumPy, order, states, statistics."""

import contextlib
import io
import json
import pickle
import random
import unittest
import zlib
from unittest import mock

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


class Indexing(rlds.StepsTest):
    """Finding the steps, which reads all files once: its progress."""

    def size(self):
        return sum(path.stat().st_size for path in self.data.glob("*.tfrecord-?????-of-?????"))

    def functions(self):
        return (
            lambda progress: self.steps(progress=progress),
            lambda progress: rp.episode_statistics(
                rp.tfds(self.data), ["action"], keep=False, progress=progress
            ),
        )

    def test_a_function_hears_of_all_bytes_also_of_indexed_files(self):
        for function in self.functions():
            for path in [*self.data.glob("*.steps")][:1]:
                path.unlink()
            for _ in range(2):
                calls = []
                function(lambda done, total, calls=calls: calls.append((done, total)))
                self.assertEqual(calls[-1], (self.size(), self.size()))

    def test_files_of_a_part_count_only(self):
        calls = []
        rp.tfds(self.data, "train[:1shard]").steps(progress=lambda *call: calls.append(call))
        first = min(self.data.glob("*.tfrecord-?????-of-?????")).stat().st_size
        self.assertEqual(calls[-1], (first, first))

    def test_exceptions_arrive_and_a_pickle_has_no_progress(self):
        def stop(done, total):
            raise KeyError(total)

        for function in self.functions():
            with self.assertRaises(KeyError):
                function(stop)
        heard = []
        again = pickle.loads(pickle.dumps(self.steps(progress=lambda *call: heard.append(call))))
        self.assertEqual(len(heard), 1)
        self.assertEqual(len(again), len(self.numbered))

    def test_a_bar(self):
        error = io.StringIO()
        with contextlib.redirect_stderr(error), mock.patch.dict("sys.modules", {"tqdm.auto": None}):
            error.isatty = lambda: True
            self.steps(progress=True)
        self.assertIn("steps: 100 %", error.getvalue())


class Scaling(unittest.TestCase):
    def test_quantiles_become_the_ends(self):
        ends = np.array([2.0, -4.0, 7.0]), np.array([4.0, 4.0, 7.0])
        statistics = rp.StepStatistics(*ends, *ends, *ends)
        values = np.array([[2, -4, 7], [4, 4, 7], [3, 0, 7], [9, -9, 7]], np.float32)
        found = statistics.scaled(values[:, None])
        self.assertEqual((found.dtype, found.shape), (np.float32, (4, 1, 3)))
        expected = [[-1, -1, -1], [1, 1, -1], [0, 0, -1], [1, -1, -1]]
        np.testing.assert_allclose(found[:, 0], expected, atol=1e-6)


class Json(unittest.TestCase):
    def test_it_is_that_of_octo_and_openvla(self):
        statistics = rp.StepStatistics(*(np.array([i, np.nan]) for i in range(6)))
        document = json.loads(rp.EpisodeStatistics({"action": statistics}, 3, 40).to_json())
        names = ("mean", "std", "min", "max", "q01", "q99")
        expected = {name: [float(i), None] for i, name in enumerate(names)}
        self.assertEqual(
            document, {"action": expected, "num_transitions": 40, "num_trajectories": 3}
        )


class RaggedFeatures(FilesTest):
    """Beside TFDS itself: tests/interop/steps_test.py."""

    def steps(self, row_lengths=(2, 0, 3), **arguments):
        step = sets.tree(t=sets.scalar("int64"), tokens=sets.sequence(sets.scalar("int32")))
        features = sets.tree(steps=sets.sequence(step, name="Dataset"))
        example = {
            "steps/t": [0, 1, 2],
            "steps/tokens/ragged_flat_values": [1, 2, 3, 4, 5],
            "steps/tokens/ragged_row_lengths_0": list(row_lengths),
        }
        folder = sets.write(self.folder, features, {"train": [[records.example(example)]]})
        return rp.tfds(folder).steps(**arguments)

    def test_rows_are_arrays_and_batches_ragged(self):
        steps = self.steps()
        self.assertEqual([row["tokens"].tolist() for row in steps], [[1, 2], [], [3, 4, 5]])
        self.assertEqual(steps[2]["tokens"].dtype, np.int32)
        batch = next(iter(steps.shuffle(seed=1).batch(3)))
        self.assertIsInstance(batch["tokens"], rp.Ragged)
        rows = dict(zip(batch["t"].tolist(), batch["tokens"], strict=True))
        self.assertEqual(
            {t: row.tolist() for t, row in rows.items()}, {0: [1, 2], 1: [], 2: [3, 4, 5]}
        )

    def test_windows_are_a_dimension_in_front(self):
        for pad, last in (("edge", [3, 4, 5]), ("zero", [])):
            batch = next(iter(self.steps(offsets={"tokens": [0, 1]}, pad=pad).batch(3)))
            found = [[place.tolist() for place in row] for row in batch["tokens"]]
            self.assertEqual(found, [[[1, 2], []], [[], [3, 4, 5]], [[3, 4, 5], last]])
            self.assertEqual(batch["tokens_mask"][2].tolist(), [True, False])

    def test_row_lengths_that_dont_fit_are_damage(self):
        with self.assertRaisesRegex(rp.DataLossError, "steps/tokens/ragged_row_lengths_0|tokens"):
            self.steps(row_lengths=(2, 0, 2))

    def test_other_operators_refuse_it(self):
        with self.assertRaises(rp.InvalidArgumentError):
            self.steps().decode_image("tokens")
        with self.assertRaises(rp.InvalidArgumentError):
            rp.episode_statistics(rp.tfds(self.folder / "made"), ["tokens"])


class Windows(rlds.StepsTest):
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


class Images(rlds.StepsTest):
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

    def test_a_flip_of_images_whose_actions_stay_is_refused(self):
        steps = self.steps().decode_image("observation/image")
        key = "observation/image"
        for call, width in (
            (lambda **o: steps.random_resized_crop(key, 12, 16, flip=True, **o), 16),
            (lambda **o: steps.pad_crop_flip(key, 1, **o), 16),
            (lambda **o: steps.crop_flip_color(key, 8, 8, **o), 8),
        ):
            with self.assertRaisesRegex(ValueError, "mirrors.*flip_steps=True"):
                call()
            images = next(iter(call(flip_steps=True).batch(2)))["observation"]["image"]
            self.assertEqual(images.shape[2], width)
        everything = {"scale": (1.0, 1.0), "ratio": (4 / 3, 4 / 3)}
        cropped = steps.random_resized_crop(key, 12, 16, **everything).batch(200)
        whole = steps.batch(200)
        np.testing.assert_array_equal(
            next(iter(cropped))["observation"]["image"], next(iter(whole))["observation"]["image"]
        )

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


class Order(rlds.StepsTest):
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


class Episodes(rlds.StepsTest):
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

    def test_statistics_leave_nan_and_infinity_out(self):
        def episode(rng, number, steps, camera):
            made = random_episode(rng, number, steps, camera)
            if number == 3:
                made["action"][2, 0], made["action"][4, 1] = np.nan, -np.inf
            return made

        random_episode = rlds.random_episode
        with mock.patch.object(rlds, "random_episode", episode):
            data, episodes = rlds.write(self.folder, name="broken")
        actions = np.concatenate([episode["action"] for episode in episodes]).astype(float)
        finite = np.where(np.isfinite(actions), actions, np.nan)
        for _ in range(2):  # computed, then kept
            reason = (
                rf"action: 2 of {actions.size} values .* first in episode 3 \(the record at off"
            )
            with self.assertWarnsRegex(UserWarning, reason):
                action = rp.episode_statistics(rp.tfds(data), ["action"])["action"]
            np.testing.assert_allclose(action.mean, np.nanmean(finite, 0), rtol=1e-12)
            np.testing.assert_allclose(action.q99, np.nanquantile(finite, 0.99, 0), rtol=1e-12)
            self.assertEqual(action.left_out.tolist(), [1, 1, 0, 0, 0, 0, 0])
            ((number, path, offset, values),) = action.episodes
            self.assertEqual((number, values, offset), (3, 2, 0))
            self.assertIn("broken-train.tfrecord-00001", path)
            self.assertTrue(np.isfinite(action.scaled(actions)[0]).all())

    def test_statistics_of_other_features_are_refused(self):
        for name in ("language_instruction", "observation/image", "episode_metadata/number"):
            with self.assertRaises(rp.InvalidArgumentError):
                rp.episode_statistics(rp.tfds(self.data), [name])


if __name__ == "__main__":
    unittest.main()
