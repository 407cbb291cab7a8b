"""Tests what the first errors of a new user say: the argument, what it takes, what it got."""

import functools
import inspect
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import recordpipe as rp


def module_function(element):
    return element


class Messages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "train.tfrecord"
        rp.write_tfrecords(self.path, [{"image": b"x", "label": i} for i in range(10)])
        self.records = rp.tfrecords(self.path)

    def expect(self, error, text, function):
        with self.assertRaisesRegex(error, text) as raised:
            function()
        self.assertLess(len(str(raised.exception)), 400)

    def test_arguments_are_named(self):
        ds = self.records
        count = "an integer from 0 to 2\\*\\*64 - 1, not"
        for function, text in (
            (lambda: ds.take("a"), f"take\\(\\): count is {count} 'a'"),
            (lambda: ds.take(-2), f"take\\(\\): count is {count} -2"),
            (lambda: ds.batch(1.5), f"batch\\(\\): batch_size is {count} 1.5"),
            (
                lambda: ds.shuffle(seed=2**64),
                f"shuffle\\(\\): seed is {count} 18446744",
            ),
            (lambda: ds.batch("64"), f"batch\\(\\): batch_size is {count} '64'"),
            (lambda: ds.with_options(threads=-1), f"with_options\\(\\): threads is {count} -1"),
            (lambda: ds.map(None, name=""), "map\\(\\): function is a function, not None"),
            (lambda: ds.map([1, 2]), "map\\(\\): function is a function, not \\[1, 2\\]"),
            (lambda: ds.filter("x" * 10_000), "filter\\(\\): predicate is a function, not 'xxx"),
            (lambda: ds.head(1.5), "count is an integer, not 1.5"),
            (lambda: ds.parse().resize("image", "a"), "height and width, or .*not 'a'"),
            (lambda: ds.parse().resize("image", [10]), "height and width, or"),
            (
                lambda: rp.tfrecords(self.path, cycle_length="a"),
                "cycle_length is an integer",
            ),
            (lambda: ds.parse("label"), "a list of names, not 'label'"),
            (lambda: rp.from_generator(i for i in [1]), "a function that returns a new iterable"),
            (lambda: rp.sample_from_datasets(ds, ds), "a list of Datasets"),
            (lambda: rp.sample_from_datasets([ds, ds], ds), "weights are numbers"),
            (lambda: rp.choose_from_datasets(ds, ds), "a list of Datasets"),
            (lambda: ds.parse(a=1), r"^Dataset.parse\(\) got an unexpected keyword argument 'a'"),
            (lambda: ds.batch(), r"^Dataset.batch\(\) missing 1 required"),
            (lambda: rp.zip(ds, [b"x" * 10_000]), "needs a recordpipe.Dataset, not \\[b'xxx"),
            (ds.steps, "steps\\(\\) reads the episodes of tfds\\(folder\\), not tfrecords"),
        ):
            with self.subTest(text):
                self.expect(TypeError, text, function)

    def test_types_that_records_do_not_have(self):
        feature = rp.FixedLenFeature([], "int32")
        self.expect(ValueError, "not 'int32'", lambda: self.records.parse({"label": feature}))

    def test_near_names_of_features(self):
        for function, error in (
            (lambda: list(self.records.parse({"imge": "bytes"})), rp.NotFoundError),
            (lambda: self.records.parse(["imge"]), rp.NotFoundError),
            *((call, rp.InvalidArgumentError) for call in self.calls_with_a_feature("imge")),
        ):
            self.expect(error, "'imge'.*image, label.*did you mean '?image'?\\?", function)

    def calls_with_a_feature(self, feature):
        """Calls of all methods that take one."""
        parsed = self.records.parse()
        yield lambda: parsed.bucket_by_sequence_length(feature, [2], [3, 4])
        for _, method in inspect.getmembers(rp.Dataset, inspect.isfunction):
            _, *parameters = inspect.signature(method).parameters.values()
            if parameters and parameters[0].name == "feature":
                needed = [one.name for one in parameters[1:] if one.default is one.empty]
                given = {each: [3, 3, 3] if each == "shape" else 3 for each in needed}
                yield functools.partial(method, parsed, feature, **given)

    def test_names_and_dtypes_are_features(self):
        chosen = self.records.parse(["label"])
        self.assertEqual(chosen.features, {"label": rp.FixedLenFeature([], "int64")})
        self.assertEqual([row["label"] for row in chosen], [*range(10)])
        with self.assertRaisesRegex(ValueError, "the name of a feature at least"):
            self.records.parse([])
        for features in ({"label": "int64"}, {"label": int}, {"label": np.dtype("int64")}):
            rows = [*self.records.parse(features).batch(4)]
            self.assertEqual([list(row["label"]) for row in rows][2], [8, 9])
            self.assertEqual(rows[0].keys(), {"label"})

    def test_calls_of_convert(self):
        target = self.folder / "out.tfrecord"
        for options, error, text in (
            ({"select": []}, ValueError, "select names no feature"),
            ({"rename": ["label"]}, TypeError, "rename is a dict"),
            ({"split": "a=0.5,b=0.5"}, TypeError, "split is a dict"),
            ({"split": {1: 0.5, "b": 0.5}}, TypeError, "the name of a split must be a string"),
            ({"level": "slow"}, TypeError, "level is an integer, not 'slow'"),
            ({"shards_by": "round-robin"}, ValueError, "shards_by is about shards"),
            ({"quality": 50}, ValueError, "images and quality"),
        ):
            self.expect(
                error, text, lambda options=options: rp.convert(self.path, target, **options)
            )
        for options in ({"dry_run": True}, {"split": {"a": 0.5, "b": 0.5}}, {"shards": 2}):
            with self.assertRaisesRegex(TypeError, f"has no {min(options)}"):
                rp.convert_to_dir(self.path, self.folder / "folder", **options)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["train.tfrecord"])

    def test_images_that_are_left_out_are_counted(self):
        folder = self.folder / "folder"
        for resume in (False, True):
            report = rp.convert_to_dir(
                self.path, folder, resize=3, images="image", on_damage="resync", resume=resume
            )
            self.assertEqual((report.records, report.records_skipped), (0, 10))
            self.assertIn("10 records left out", repr(report))
        self.assertIn('"records_skipped":10', (folder / "manifest.jsonl").read_text())

    def test_select(self):
        for batches in (
            self.records.parse().shuffle(seed=3).batch(4).select(["label"]),
            self.records.parse().select(["label"]).shuffle(seed=3).batch(4),
        ):
            self.assertEqual(batches.columns, ["label"])
            labels = [int(label) for batch in batches for label in batch["label"]]
            whole = self.records.parse().shuffle(seed=3)
            self.assertEqual(labels, [int(row["label"]) for row in whole])
        parsed = self.records.parse()
        self.expect(rp.NotFoundError, "mean 'label'", lambda: parsed.select(["labl"]))
        self.expect(TypeError, "list of names: \\['label'\\]", lambda: parsed.select("label"))
        self.expect(TypeError, "not of what map", lambda: parsed.map(str).select(["label"]))
        rows = parsed.shuffle(seed=3).batch(4).unbatch().select(["label"])
        self.assertEqual(rows.columns, ["label"])
        self.assertEqual([row.keys() for row in rows], [{"label"}] * 10)
        self.assertEqual([int(row["label"]) for row in rows], labels)
        self.expect(TypeError, "not of what unbatch", lambda: parsed.unbatch().select(["label"]))

    def test_unbatch_needs_the_number_of_rows(self):
        for dataset, text in (
            (rp.from_list([{"a": [1, 2], "b": [3]}]), "have \\[1, 2\\] rows"),
            (rp.from_list([{}]), "are none"),
            (self.records.parse({}).batch(4), "are none"),
        ):
            self.expect(ValueError, text, lambda dataset=dataset: list(dataset.unbatch()))

    def test_first_looks(self):
        parsed = self.records.parse(["label"])
        self.assertEqual([row["label"] for row in parsed.head(3)], [0, 1, 2])
        self.assertEqual(len(rp.range(3).head()), 3)
        self.assertIsNone(self.records.columns)
        parsed.take(2).write(self.folder / "two.tfrecord")
        self.assertEqual(len(rp.tfrecords(self.folder / "two.tfrecord")), 2)

    def test_names_of_tf_data(self):
        names = (
            "apply as_numpy_iterator batch bucket_by_sequence_length cache cardinality "
            "choose_from_datasets concatenate counter element_spec enumerate filter fingerprint "
            "flat_map from_generator from_tensor_slices from_tensors get_single_element "
            "group_by_window ignore_errors interleave list_files load map options padded_batch "
            "prefetch ragged_batch random range rebatch reduce rejection_resample repeat "
            "sample_from_datasets save scan shard shuffle skip snapshot sparse_batch take "
            "take_while unbatch unique window with_options zip"
        )
        for name in names.split():
            with self.subTest(name):
                if name not in dir(rp.Dataset):
                    with self.assertRaisesRegex(AttributeError, f"{name}'; here, it is "):
                        getattr(self.records, name)
        with self.assertRaisesRegex(AttributeError, "a Dataset has no 'shufle'$"):
            self.records.shufle  # noqa: B018

    def test_paths_are_looked_for_at_once(self):
        def with_target(function):
            return lambda path: function(path, self.folder / "out")

        for make in (
            *(rp.tfrecords, rp.list_files, rp.info, rp.verify, rp.schema, rp.stats, rp.index),
            *map(with_target, (rp.convert, rp.salvage, rp.convert_to_dir, rp.salvage_to_dir)),
            lambda path: rp.verify(path, executor=ThreadPoolExecutor(1)),
        ):
            self.expect(
                rp.MissingFileError,
                f"no such file .did you mean {self.path}",
                lambda make=make: make(self.folder / "tran.tfrecord"),
            )
            self.expect(
                rp.MissingFileError,
                "there is no folder /no/such",
                lambda make=make: make("/no/such/file"),
            )
        file = f"{self.path}/x"  # of which the system says something else than "missing"
        self.expect(rp.Error, "train.tfrecord/x", lambda: list(rp.tfrecords(file)))

    def test_names_are_those_of_python(self):
        rp.convert(self.path, self.folder / "a.gz")
        for dataset in (
            rp.tfrecords(self.folder / "a.gz"),
            rp.tfrecords(self.path, on_damage="resync"),
            self.records.repeat(),
        ):
            with self.assertRaisesRegex(rp.Error, "in any order") as raised:
                dataset.shuffle(seed=1)
            self.assertNotRegex(str(raised.exception), "tfrecord_files|global_shuffle")

    def test_the_home_folder(self):
        code = (
            "import recordpipe as rp\n"
            "ds = rp.tfrecords('~/train.tfrecord')\n"
            "with iter(ds) as one, iter(ds) as other:\n"
            "    next(one), one.save_state('~/state'), other.load_state('~/state')\n"
            "    print(other.position, len(list(other)))\n"
            "for data in rp.cifar10_batches, rp.tfds:\n"
            "    try:\n"
            "        iter(data('~/none'))\n"
            "    except rp.Error as error:\n"
            "        print('~' in str(error))"
        )
        run = subprocess.run(
            [sys.executable, "-c", code],
            env={"HOME": str(self.folder), "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        )
        self.assertEqual(run.stdout, b"1 9\nFalse\nFalse\n")

    def test_explain_is_what_was_called(self):
        line = sys._getframe().f_lineno + 1
        ds = self.records.map(lambda x: x).filter(module_function).batch(4).prefetch()
        ds = ds.concatenate(rp.range(3))
        self.assertEqual(
            ds.explain(),
            f"tfrecords({str(self.path)!r})\n"
            f"map(<lambda> at messages_test.py:{line})\n"
            "filter(module_function)\n"
            "batch(4)\n"
            "prefetch()\n"
            "  range(0, stop=3, step=1)\n"
            "concatenate()\n",
        )
        ds = rp.range(9).repeat().skip(-1).skip(1).repeat(2)
        calls = "repeat() skip(-1) skip(1) repeat(2)"
        self.assertEqual(ds.explain().split("\n", 1)[1].split(), calls.split())
        several = rp.tfrecords([self.path, self.path]).with_options(threads=2)
        self.assertEqual(
            several.explain(),
            f"tfrecords({str(self.path)!r} and 1 more)\nwith_options(threads=2, chunk_size=64)\n",
        )

    def test_the_profile_names_functions(self):
        class Doubled:
            def __call__(self, element):
                return element * 2

        line = sys._getframe().f_lineno + 1
        ds = self.records.map(lambda x: x).filter(module_function).map(Doubled()).map(len, name="l")
        iterator = iter(ds.repeat(2))
        list(iterator)
        profile = iterator.stats()["profile"]
        names = f"map(<lambda> at messages_test.py:{line})", "filter(module_function)"
        for name in (*names, "map(Doubled)", "map(l)"):
            self.assertRegex(profile, rf"(?m)^ *{re.escape(name)} +\d")

    def test_names_of_the_package(self):
        names = dir(rp)
        self.assertEqual(set(names) - set(rp.__all__), {"grain", "range", "ray", "torch", "zip"})
        imported = {}
        exec("from recordpipe import *", imported)
        self.assertLessEqual({"Dataset", "tfrecords", "verify"}, imported.keys())
        self.assertFalse({"range", "zip"} & imported.keys())

    def test_an_extra_that_is_not_installed(self):
        code = (
            "import sys; sys.modules['{0}'] = None\n"
            "try:\n"
            "    import recordpipe.{0}\n"
            "except ModuleNotFoundError as error:\n"
            "    print(error)"
        )
        for name in ("torch", "grain", "ray"):
            run = subprocess.run(
                [sys.executable, "-c", code.format(name)],
                env={"PYTHONPATH": ":".join(sys.path)},
                capture_output=True,
                check=True,
            )
            self.assertIn(f"pip install 'recordpipe[{name}]'", run.stdout.decode())


if __name__ == "__main__":
    unittest.main()
