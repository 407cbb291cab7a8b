"""filesystem= and URLs: fsspec, pyarrow.fs, and a server with the interface of S3."""

# ruff: noqa: E402 (require() comes before the imports of what may be missing)

import concurrent.futures
import contextlib
import io
import logging
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

import recordpipe as rp
from peers import require
from support import FilesTest

require("fsspec", "obstore", "pyarrow", "s3fs", "moto.server", "boto3")

import boto3
import fsspec
import obstore.fsspec
import pyarrow.fs
import s3fs
from moto.server import ThreadedMotoServer

RECORDS = [bytes([i % 251]) * (i % 3001) for i in range(1500)]
SECRET = "topsecretkey"
KEY = "secretkeyid"


def read_part(dataset, shards, index):
    return list(dataset.shard(shards, index))


class Stores(FilesTest):
    """The same bytes from each kind of file system."""

    def check(self, filesystem, folder):
        """``folder``: where to write, with a slash, or ""."""
        files = {"filesystem": filesystem}
        written = rp.write_tfrecords(f"{folder}set/a.tfrecord", RECORDS, shards=2, **files)
        rp.index(written[0], **files)
        dataset = rp.tfrecords(f"{folder}set/a-*", **files)
        local = rp.write_tfrecords(self.folder / "local", RECORDS, shards=2)
        expected = list(rp.tfrecords(local))
        for threads in (1, 3):
            self.assertEqual([*iter(dataset.with_options(threads=threads).prefetch())], expected)
        self.assertEqual(list(rp.tfrecords(f"{folder}set/", **files)), expected)
        self.assertEqual(dataset[1234], expected[1234])
        self.assertEqual(list(dataset.shuffle(seed=7)), list(rp.tfrecords(local).shuffle(seed=7)))
        iterator = iter(dataset)
        for _ in range(1000):
            next(iterator)
        state = iterator.state_dict()
        again = iter(dataset.with_options(threads=2))
        again.load_state_dict(state)
        self.assertEqual([*again], expected[1000:])
        self.assertTrue(rp.verify(written, **files).intact)
        self.assertEqual(rp.info(f"{folder}set", **files).records if folder else 1500, 1500)
        report = rp.convert(written, f"{folder}set/all.gz", shuffle=True, **files)
        self.assertEqual(sorted(rp.tfrecords(report.paths, **files)), sorted(RECORDS))
        with self.assertRaises(KeyError), rp.Writer(f"{folder}set/new", **files) as writer:
            writer.write(b"x" * 20_000_000)
            raise KeyError
        with self.assertRaisesRegex(rp.NotFoundError, "set/new"):
            next(iter(rp.tfrecords(f"{folder}set/new", **files)))
        with self.assertRaisesRegex(rp.NotFoundError, "no file matches"):
            rp.tfrecords(f"{folder}set/*.partial", **files)

    def check_in_processes(self, filesystem, path):
        dataset = rp.tfrecords(path, filesystem=filesystem)
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            parts = pool.starmap(read_part, [(dataset, 2, index) for index in range(2)])
        self.assertEqual(sorted(parts[0] + parts[1]), sorted(RECORDS))

    def make_set(self):
        os.mkdir(self.folder / "set")
        return self.folder

    def test_fsspec_memory(self):
        memory = fsspec.filesystem("memory")
        self.addCleanup(memory.store.clear)
        self.check(memory, "memory://")

    def test_fsspec_local(self):
        local = fsspec.filesystem("file")
        self.check(local, f"{self.make_set()}/")
        self.check_in_processes(local, f"{self.folder}/set/a-*")

    def test_pyarrow_local(self):
        local = pyarrow.fs.LocalFileSystem()
        self.check(local, f"{self.make_set()}/")
        self.check_in_processes(local, f"{self.folder}/set/a-*")

    def test_pyarrow_sub_tree(self):
        self.make_set()
        self.check(pyarrow.fs.SubTreeFileSystem(str(self.folder), pyarrow.fs.LocalFileSystem()), "")

    def test_obstore_local(self):
        self.make_set()
        local = obstore.fsspec.FsspecStore("file")
        self.check(local, f"file://{self.folder}/")


def setUpModule():
    """One server for all tests."""
    logging.getLogger("werkzeug").disabled = True
    with contextlib.redirect_stdout(io.StringIO()):
        server = ThreadedMotoServer(port=0)
        server.start()
    unittest.addModuleCleanup(server.stop)
    _, S3Test.port = server.get_host_and_port()
    S3Test.endpoint = f"http://127.0.0.1:{S3Test.port}"
    settings = {
        "AWS_ENDPOINT_URL": S3Test.endpoint,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    changed = unittest.mock.patch.dict(os.environ, settings)
    changed.start()
    unittest.addModuleCleanup(changed.stop)
    S3Test.client = boto3.client("s3", endpoint_url=S3Test.endpoint)
    S3Test.client.create_bucket(Bucket="bucket")


class S3Test(FilesTest):
    def keys(self, prefix):
        found = self.client.list_objects_v2(Bucket="bucket", Prefix=prefix)
        return [entry["Key"] for entry in found.get("Contents", [])]

    def uploads(self):
        return self.client.list_multipart_uploads(Bucket="bucket").get("Uploads", [])

    def arrow(self):
        return pyarrow.fs.S3FileSystem(
            endpoint_override=f"127.0.0.1:{self.port}",
            scheme="http",
            access_key=KEY,
            secret_key=SECRET,
            region="us-east-1",
        )


class S3(S3Test):
    def test_urls(self):
        written = rp.write_tfrecords("s3://bucket/urls/a.tfrecord", RECORDS, shards=2, index=True)
        self.assertEqual(written[0], "s3://bucket/urls/a-00000-of-00002.tfrecord")
        dataset = rp.tfrecords("s3://bucket/urls/a-*")
        expected = RECORDS[::2] + RECORDS[1::2]
        self.assertEqual(list(dataset), expected)
        self.assertEqual(list(rp.tfrecords("s3://bucket/urls/")), expected)
        self.assertEqual(list(rp.tfrecords("s3://bucket/urls/a@2.tfrecord")), expected)
        here = rp.write_tfrecords(self.folder / "here", RECORDS, shards=2)
        self.assertEqual(
            list(dataset.shuffle(seed=7).take(50)),
            list(rp.tfrecords(here).shuffle(seed=7).take(50)),
        )
        self.assertTrue(rp.verify("s3://bucket/urls/").intact)
        local = rp.convert("s3://bucket/urls/", self.folder / "local.tfrecord").paths
        self.assertEqual(list(rp.tfrecords([*local, *written])), expected * 2)
        report = rp.convert(local, "s3://bucket/urls/b", shards=2, shuffle=True)
        self.assertEqual(report.records, len(RECORDS))
        self.assertEqual(len(self.keys("urls/b-")), 2)

    def test_large_uploads_appear_whole(self):
        big = [os.urandom(1_000_000)] * 40
        with rp.Writer("s3://bucket/big/whole") as writer:
            for record in big:
                writer.write(record)
            self.assertEqual(self.keys("big/"), [])
        self.assertEqual(list(rp.tfrecords("s3://bucket/big/whole")), big)
        with self.assertRaises(KeyError), rp.Writer("s3://bucket/big/none") as writer:
            for record in big:
                writer.write(record)
            raise KeyError
        self.assertEqual(self.keys("big/"), ["big/whole"])
        self.assertEqual(self.uploads(), [])

    def test_profiles(self):
        rp.write_tfrecords("s3://bucket/profiles/a", RECORDS)
        credentials = f"[other]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n"
        (self.folder / "credentials").write_text(credentials)
        (self.folder / "config").write_text(
            "[profile other]\nregion = us-east-1\ns3 =\n  max_concurrent_requests = 20\n"
            "[profile single]\nsso_session = office\n"
        )
        program = (
            "import pickle, recordpipe as rp; ds = rp.tfrecords('s3://bucket/profiles/a'); "
            f"print(len(list(ds))); assert {SECRET!r}.encode() not in pickle.dumps(ds)"
        )

        def run(profile):
            kept = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
            return subprocess.run(
                [sys.executable, "-B", "-c", program],
                capture_output=True,
                text=True,
                timeout=100,
                env={
                    **kept,
                    "AWS_ENDPOINT_URL": self.endpoint,
                    "AWS_PROFILE": profile,
                    "AWS_SHARED_CREDENTIALS_FILE": str(self.folder / "credentials"),
                    "AWS_CONFIG_FILE": str(self.folder / "config"),
                    "PYTHONPATH": os.pathsep.join(sys.path),
                },
            )

        done = run("other")
        self.assertEqual((done.returncode, done.stdout), (0, f"{len(RECORDS)}\n"), done.stderr)
        self.assertIn("no profile missing, which AWS_PROFILE", run("missing").stderr)
        self.assertIn("takes credentials from sso_session", run("single").stderr)

    def test_filesystems_of_the_user(self):
        rp.write_tfrecords("s3://bucket/own/a.tfrecord", RECORDS)
        s3 = s3fs.S3FileSystem(endpoint_url=self.endpoint, key=KEY, secret=SECRET)
        arrow = self.arrow()
        store = obstore.fsspec.FsspecStore(
            "s3", endpoint=self.endpoint, client_options={"allow_http": True}
        )
        for filesystem, path in (
            (s3, "bucket/own/*.tfrecord"),
            (s3, "s3://bucket/own/a.tfrecord"),
            (arrow, "bucket/own/*.tfrecord"),
            (arrow, "s3://bucket/own/a.tfrecord"),
            (store, "bucket/own/*.tfrecord"),
            (store, "s3://bucket/own/a.tfrecord"),
        ):
            with self.subTest(filesystem=type(filesystem), path=path):
                self.assertEqual(list(rp.tfrecords(path, filesystem=filesystem)), RECORDS)
        big = [b"x" * 1_000_000] * 20
        for filesystem, path in ((s3, "bucket/own/s3fs"), (store, "bucket/own/store")):
            rp.write_tfrecords(path, big, filesystem=filesystem)
            self.assertEqual(list(rp.tfrecords(path, filesystem=filesystem)), big)
            with (
                self.assertRaises(KeyError),
                rp.Writer(path + "-none", filesystem=filesystem) as writer,
            ):
                for record in big:
                    writer.write(record)
                raise KeyError
            self.assertEqual(self.uploads(), [])
        self.assertEqual(self.keys("own/"), ["own/a.tfrecord", "own/s3fs", "own/store"])

    def test_no_credential_is_shown_or_kept(self):
        rp.write_tfrecords("s3://bucket/kept/a", RECORDS)
        dataset = rp.tfrecords("s3://bucket/kept/a").batch(10)
        iterator = iter(dataset)
        next(iterator)
        shown = [repr(dataset), dataset.explain(), repr(iterator.state_dict())]
        shown.append(repr(pickle.dumps(dataset)))
        for path in ("s3://bucket/none", "s3://bucket/kept/"):
            try:
                list(rp.tfrecords(path + "x"))
            except rp.Error as error:
                shown.append(repr(error) + str(error))
        s3 = s3fs.S3FileSystem(endpoint_url=self.endpoint, key=KEY, secret=SECRET)
        own = rp.tfrecords("bucket/kept/a", filesystem=s3)
        iterator = iter(own)
        next(iterator)
        shown += [repr(own), own.explain(), repr(iterator.state_dict())]
        for text in shown:
            self.assertNotIn(SECRET, text)
            self.assertNotIn(KEY, text)

    def test_workers(self):
        rp.write_tfrecords("s3://bucket/workers/a", RECORDS, shards=2)
        dataset = rp.tfrecords("s3://bucket/workers/a-*")
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            parts = pool.starmap(read_part, [(dataset, 2, index) for index in range(2)])
        self.assertEqual(sorted(parts[0] + parts[1]), sorted(RECORDS))

    def test_torch_workers(self):
        try:
            from torch.utils.data import DataLoader
        except ImportError as error:
            self.skipTest(str(error))
        from recordpipe.torch import Dataset

        rp.write_tfrecords("s3://bucket/torch/a", [str(i).encode() for i in range(100)], shards=2)
        dataset = rp.tfrecords("s3://bucket/torch/a-*")
        expected = sorted(dataset)
        for workers in (0, 1, 2):
            loader = DataLoader(
                Dataset(dataset),
                batch_size=None,
                num_workers=workers,
                multiprocessing_context="forkserver" if workers else None,
            )
            self.assertEqual(sorted(loader), expected)


class S3Shards(S3Test):
    """map_shards, executor= and jobs; workers take their credentials from the environment."""

    def setUp(self):
        super().setUp()
        self.prefix = self.id().rpartition(".")[2]
        self.url = f"s3://bucket/{self.prefix}"
        for i in range(5):
            records = [rp.encode_example({"id": 10 * i + j}) for j in range(i + 1)]
            rp.write_tfrecords(f"{self.url}/in/train-{i}", records)

    def processes(self):
        context = multiprocessing.get_context("spawn")
        return concurrent.futures.ProcessPoolExecutor(2, mp_context=context)

    def test_map_shards(self):
        with self.processes() as executor:
            found = list(rp.map_shards(count, f"{self.url}/in/train-*", executor=executor))
        self.assertEqual([shard.value for shard in found], [1, 2, 3, 4, 5])
        self.assertEqual(found[0].path, f"{self.url}/in/train-0")

    def test_executors(self):
        pattern = f"{self.url}/in/train-*"
        with self.processes() as executor:
            self.assertEqual(rp.verify(pattern, executor=executor), rp.verify(pattern))
            self.assertEqual(rp.schema(pattern, executor=executor), rp.schema(pattern))
            self.assertEqual(rp.stats(pattern, executor=executor)["id"].int64.count, 15)
            made = rp.index(pattern, executor=executor)
            self.assertEqual([one.records for one in made], [1, 2, 3, 4, 5])
            self.assertTrue(
                all(one.matches for one in rp.index(pattern, check=True, executor=executor))
            )
        self.assertEqual(len(self.keys(f"{self.prefix}/in/")), 10)

    def test_jobs(self):
        out = f"{self.url}/out/"
        with self.processes() as executor:
            report = rp.convert_to_dir(
                f"{self.url}/in/train-*", out, compression="zstd", executor=executor
            )
            self.assertEqual(report.records, 15)
            self.assertEqual(report.manifest, f"{self.url}/out/manifest.jsonl")
            # No record of a shard is left, and no upload.
            names = [f"{self.prefix}/out/train-{i}.zst" for i in range(5)]
            self.assertEqual(
                self.keys(f"{self.prefix}/out/"), [f"{self.prefix}/out/manifest.jsonl", *names]
            )
            self.assertEqual(self.uploads(), [])
            self.client.delete_object(Bucket="bucket", Key=names[2])
            again = rp.convert_to_dir(
                f"{self.url}/in/train-*", out, compression="zstd", executor=executor, resume=True
            )
        self.assertEqual([one.was_there for one in again.shards], [True, True, False, True, True])
        key = f"{self.prefix}/out/manifest.jsonl"
        manifest = self.client.get_object(Bucket="bucket", Key=key)["Body"].read().decode()
        for secret in (KEY, SECRET):
            self.assertNotIn(secret, manifest + repr(again))
        here = rp.salvage_to_dir(out + "train-*", self.folder / "here")
        found = rp.tfrecords(f"{here.folder}/train-*")
        self.assertEqual(list(found), list(rp.tfrecords(out + "train-*")))

    def test_file_systems_of_the_user(self):
        s3 = s3fs.S3FileSystem(endpoint_url=self.endpoint, key=KEY, secret=SECRET)
        store = obstore.fsspec.FsspecStore(
            "s3", endpoint=self.endpoint, client_options={"allow_http": True}
        )
        arrow = self.arrow()
        with self.processes() as executor:
            pattern = f"bucket/{self.prefix}/in/train-*"
            report = rp.verify(pattern, filesystem=arrow, executor=executor)
            self.assertEqual(report, rp.verify(pattern, filesystem=arrow))
            self.assertEqual(report.records, 15)
        cases = (("bucket/", s3), ("bucket/", store))
        for i, (bucket, filesystem) in enumerate(cases):
            source, out = f"{bucket}{self.prefix}/in/train-*", f"{bucket}{self.prefix}/{i}"
            with self.subTest(type(filesystem)), self.processes() as executor:
                report = rp.convert_to_dir(source, out, filesystem=filesystem, executor=executor)
                self.assertEqual(report.records, 15)
                again = rp.convert_to_dir(source, out, filesystem=filesystem, resume=True)
                self.assertTrue(all(one.was_there for one in again.shards))
                self.assertEqual(len(self.keys(f"{self.prefix}/{i}/")), 6)


def count(path):
    return len(rp.tfrecords(path))


if __name__ == "__main__":
    unittest.main()
