"""s3:// and gs:// URLs, with servers on this machine (store_server.py).

peers/cloud_test.py has more of S3, with moto.
"""

import concurrent.futures
import multiprocessing
import pickle
import unittest

import recordpipe as rp
from store_cases import in_each_store
from store_server import Fault

RECORDS = [bytes([i % 251]) * (i % 3001) for i in range(1500)]
BIG = [bytes([i]) * 1_000_000 for i in range(40)]  # three parts


def read_part(dataset, shards, index):
    return list(dataset.shard(shards, index))


def count(path):
    return len(rp.tfrecords(path))


class Reading:
    def test_files(self):
        written = rp.write_tfrecords(f"{self.url}/set/a.tfrecord", RECORDS, shards=2, index=True)
        self.assertEqual(written[0], f"{self.url}/set/a-00000-of-00002.tfrecord")
        expected = RECORDS[::2] + RECORDS[1::2]
        dataset = rp.tfrecords(f"{self.url}/set/a-*")
        self.assertEqual(list(dataset), expected)
        for path in (
            "set/",
            "set/a@2.tfrecord",
            "set/a-{00000..00001}-of-00002.tfrecord",
            "s*/a-*",
        ):
            self.assertEqual(list(rp.tfrecords(f"{self.url}/{path}")), expected)
        self.assertEqual(dataset[1234], expected[1234])
        here = rp.write_tfrecords(self.folder / "here", RECORDS, shards=2)
        self.assertEqual(
            list(dataset.shuffle(seed=7).take(50)),
            list(rp.tfrecords(here).shuffle(seed=7).take(50)),
        )
        self.assertTrue(rp.verify(f"{self.url}/set/").intact)
        self.assertEqual(rp.info(f"{self.url}/set/").records, 1500)
        self.assertTrue(all(one.matches for one in rp.index(written, check=True)))

    def test_conversions(self):
        rp.write_tfrecords(f"{self.url}/from", RECORDS)
        local = rp.convert(f"{self.url}/from", self.folder / "local.tfrecord").paths
        self.assertEqual(list(rp.tfrecords(local)), RECORDS)
        made = rp.convert(local, f"{self.url}/to", shards=2, shuffle=True, compression="zstd")
        self.assertEqual(made.records, len(RECORDS))
        self.assertEqual(len(self.server.keys("to-")), 2)
        self.assertEqual(sorted(rp.tfrecords(f"{self.url}/to-*")), sorted(RECORDS))

    def test_a_pass_goes_on_from_its_state(self):
        rp.write_tfrecords(f"{self.url}/a", RECORDS, shards=2)
        iterator = iter(rp.tfrecords(f"{self.url}/a-*"))
        begin = [next(iterator) for _ in range(1000)]
        state = pickle.loads(pickle.dumps(iterator.state_dict()))
        again = iter(rp.tfrecords(f"{self.url}/a-*").with_options(threads=2))
        again.load_state_dict(state)
        self.assertEqual([*begin, *again], RECORDS[::2] + RECORDS[1::2])

    def test_keys_of_all_names(self):
        for key in ("a b", "a+b", "dir/ü€", "a&b=c;d", "'()!,$", "a~b-c_d.e", "a%41", "a#b"):
            with self.subTest(key):
                rp.write_tfrecords(f"{self.url}/{key}", [key.encode()])
                self.assertEqual(list(rp.tfrecords(f"{self.url}/{key}")), [key.encode()])

    def test_many_objects_take_few_requests(self):
        rp.write_tfrecords(self.folder / "one", [b"abc"])
        data = (self.folder / "one").read_bytes()
        for i in range(35):
            self.server.put(f"many/train-{i:02}.tfrecord", data)
        self.server.put("many/below/x.tfrecord", data)
        self.server.page_size = 10
        self.assertEqual(list(rp.tfrecords(f"{self.url}/many/train-*")), [b"abc"] * 35)
        # 36 names in pages of ten. What the pattern itself names is asked for once.
        self.assertEqual(len(self.server.listings()), 4)
        heads = [one.key for one in self.server.requests if one.method == "HEAD"]
        self.assertLessEqual(set(heads), {"many/train-*", "many/train-00.tfrecord"})
        self.server.requests.clear()
        self.assertEqual([*iter(rp.tfrecords(f"{self.url}/many/"))], [b"abc"] * 35)
        for i in range(35):
            self.assertEqual(len(self.server.reads(f"many/train-{i:02}.tfrecord")), 1)
        found = rp.tfrecords(f"{self.url}/many/", recursive=True)
        self.assertEqual(list(found), [b"abc"] * 36)

    def test_ranges_have_a_condition(self):
        rp.write_tfrecords(f"{self.url}/a", BIG)
        self.server.requests.clear()
        self.assertEqual([*iter(rp.tfrecords(f"{self.url}/a"))], BIG)
        first, *others = self.server.reads("a")
        self.assertGreater(len(others), 3)
        self.assertEqual(first.range()[0], 0)
        self.assertEqual({one.headers["If-Match"] for one in others}, {self.etag("a")})

    def etag(self, key):
        return self.server.objects[key].etag

    def test_an_object_that_is_replaced_is_named(self):
        rp.write_tfrecords(f"{self.url}/a", [b"x" * 100_000] * 400)
        iterator = iter(rp.tfrecords(f"{self.url}/a").with_options(threads=1, chunk_size=1))
        next(iterator)
        state = iterator.state_dict()
        rp.write_tfrecords(f"{self.url}/a", [b"y" * 100_000] * 400)
        with self.assertRaisesRegex(rp.FileSystemError, f"{self.url}/a: .*changed on the server"):
            list(iterator)
        with self.assertRaisesRegex(rp.Error, f"{self.url}/a"):
            iter(rp.tfrecords(f"{self.url}/a")).load_state_dict(state)

    def test_missing_objects(self):
        with self.assertRaisesRegex(rp.MissingFileError, f"{self.url}/none"):
            list(rp.tfrecords(f"{self.url}/none"))
        with self.assertRaisesRegex(rp.NotFoundError, "no file matches"):
            rp.tfrecords(f"{self.url}/none-*")

    def test_refusals_say_what_to_do(self):
        self.server.put("a", b"")
        secrets = list(self.server.settings().values())[1:3]
        self.server.refusal = lambda request, path: f"never: {secrets}"
        pattern = rf"{self.url}/a: .* answered 403, AccessDenied.*\(check that the "
        with self.assertRaisesRegex(rp.PermissionDeniedError, pattern) as raised:
            list(rp.tfrecords(f"{self.url}/a"))
        self.assertEqual(raised.exception.path, f"{self.url}/a")
        for secret in secrets:
            self.assertFalse("s3cr3t" in secret and secret in str(raised.exception))
        with self.assertRaisesRegex(rp.PermissionDeniedError, rf"{self.url}/new: .*AccessDenied"):
            rp.write_tfrecords(f"{self.url}/new", [b"x"])
        with self.assertRaisesRegex(rp.PermissionDeniedError, f"{self.url}/.*403"):
            rp.tfrecords(f"{self.url}/folder/")

    def test_no_credential_is_shown_or_kept(self):
        rp.write_tfrecords(f"{self.url}/kept/a", RECORDS)
        dataset = rp.tfrecords(f"{self.url}/kept/a").batch(10)
        iterator = iter(dataset)
        next(iterator)
        shown = [repr(dataset), dataset.explain(), repr(iterator.state_dict())]
        shown.append(repr(pickle.dumps(dataset)))
        secrets = list(self.server.settings().values())
        self.server.fault_of = lambda request: Fault(status=400, body=repr(secrets))
        for path in (f"{self.url}/none", f"{self.url}/kept/x"):
            with self.assertRaises(rp.Error) as raised:
                list(rp.tfrecords(path))
            shown.append(repr(raised.exception) + str(raised.exception))
        for text in shown:
            for secret in secrets:
                self.assertFalse("s3cr3t" in secret and secret in text, text)

    def test_workers(self):
        rp.write_tfrecords(f"{self.url}/a", RECORDS, shards=2)
        dataset = rp.tfrecords(f"{self.url}/a-*")
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            parts = pool.starmap(read_part, [(dataset, 2, index) for index in range(2)])
        self.assertEqual(sorted(parts[0] + parts[1]), sorted(RECORDS))


class Writing:
    def test_large_uploads_appear_whole(self):
        with rp.Writer(f"{self.url}/big/whole") as writer:
            for record in BIG:
                writer.write(record)
            self.assertEqual(self.server.keys(), [])
        self.assertEqual(list(rp.tfrecords(f"{self.url}/big/whole")), BIG)
        with self.assertRaises(KeyError), rp.Writer(f"{self.url}/big/none") as writer:
            for record in BIG:
                writer.write(record)
            raise KeyError
        with self.assertRaises(KeyError), rp.Writer(f"{self.url}/big/small") as writer:
            writer.write(b"x")
            raise KeyError
        self.assertEqual(self.server.keys(), ["big/whole"])
        self.assertEqual(self.server.unfinished(), [])

    def test_another_programs_object_is_not_overwritten(self):
        for size in (3_000, 40_000_000):
            with self.subTest(size=size):
                key = f"new-{size}"
                writer = rp.Writer(f"{self.url}/{key}")
                for _ in range(0, size, 1_000_000):
                    writer.write(b"x" * min(size, 1_000_000))
                self.server.put(key, b"theirs")
                with self.assertRaisesRegex(rp.AlreadyExistsError, "another program"):
                    writer.close()
                self.assertEqual(self.data(key), b"theirs")
                rp.write_tfrecords(f"{self.url}/{key}", [b"mine"])
                self.assertEqual(list(rp.tfrecords(f"{self.url}/{key}")), [b"mine"])
        self.assertEqual(self.server.unfinished(), [])

    def test_who_may_only_write_writes(self):
        plain = self.server.refusal
        self.server.refusal = lambda request, path: (
            "not read" if request.method in ("GET", "HEAD") else plain(request, path)
        )
        rp.write_tfrecords(f"{self.url}/a", [b"abc"])
        self.assertEqual(len(self.data("a")), 19)

    def test_jobs(self):
        for i in range(5):
            records = [rp.encode_example({"id": 10 * i + j}) for j in range(i + 1)]
            rp.write_tfrecords(f"{self.url}/in/train-{i}", records)
        pattern, out = f"{self.url}/in/train-*", f"{self.url}/out/"
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
            found = list(rp.map_shards(count, pattern, executor=executor))
            self.assertEqual([shard.value for shard in found], [1, 2, 3, 4, 5])
            self.assertEqual(rp.verify(pattern, executor=executor), rp.verify(pattern))
            report = rp.convert_to_dir(pattern, out, compression="zstd", executor=executor)
            self.assertEqual(report.records, 15)
            self.assertEqual(report.manifest, f"{self.url}/out/manifest.jsonl")
            self.assertTrue(rp.verify_manifest(report.manifest, executor=executor).intact)
            names = [f"out/train-{i}.zst" for i in range(5)]
            self.assertEqual(self.server.keys("out/"), ["out/manifest.jsonl", *names])
            del self.server.objects[names[2]]
            differing = rp.verify_manifest(report.manifest).differing
            self.assertEqual([one.path for one in differing], [f"{self.url}/{names[2]}"])
            again = rp.convert_to_dir(
                pattern, out, compression="zstd", executor=executor, resume=True
            )
        self.assertEqual([one.was_there for one in again.shards], [True, True, False, True, True])
        self.assertNotIn("s3cr3t", self.data("out/manifest.jsonl").decode() + repr(again))
        here = rp.salvage_to_dir(out + "train-*", self.folder / "here")
        self.assertEqual(
            list(rp.tfrecords(f"{here.folder}/train-*")), list(rp.tfrecords(out + "train-*"))
        )

    def test_conditions_that_a_service_does_not_have(self):
        conditions = ("If-None-Match", "If-Match", "x-goog-if-generation-match")

        def fault_of(request):
            has_one = any(name in request.headers for name in conditions)
            return Fault(status=501) if request.method in ("PUT", "POST") and has_one else None

        self.server.fault_of = fault_of
        rp.write_tfrecords(f"{self.url}/a", [b"abc"])
        rp.write_tfrecords(f"{self.url}/b", BIG)
        self.assertEqual(self.server.keys(), ["a", "b"])
        writer = rp.Writer(f"{self.url}/c")
        self.server.put("c", b"theirs")
        with self.assertRaisesRegex(rp.AlreadyExistsError, "another program"):
            writer.close()


globals().update(in_each_store(Reading))
globals().update(in_each_store(Writing))

if __name__ == "__main__":
    unittest.main()
