"""tfrecord --ray ADDRESS: the command of the wheel, here of the source tree, on a cluster."""

import json
import os
import subprocess
import sys
import unittest

import ray
import recordpipe as rp
from ray_test_case import RayTest


class Command(RayTest):
    def run_it(self, *arguments, status=0, address="auto"):
        code = "import recordpipe_programs; recordpipe_programs.tfrecord()"
        command = [sys.executable, "-B", "-c", code, "--ray", address, *map(str, arguments)]
        environment = {**os.environ, "RAY_ADDRESS": ray.get_runtime_context().gcs_address}
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=self.folder, env=environment, timeout=120
        )
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_verify_and_stats(self):
        self.files([30, 20])
        # Relative paths are those of this process.
        lines = self.run_it("verify", "--json", "train-*").stdout.splitlines()
        self.assertEqual([json.loads(line)["records"] for line in lines], [30, 20])
        found = json.loads(self.run_it("stats", "--json", "train-*").stdout)
        self.assertEqual(found["features"]["id"]["int64"]["max"], 49)
        data = bytearray((self.folder / "train-000.tfrecord").read_bytes())
        data[30] ^= 1
        (self.folder / "train-000.tfrecord").write_bytes(data)
        self.assertIn("1 damaged", self.run_it("verify", "train-*", status=1).stdout)
        self.run_it("salvage", "train-*", "--to-dir", "fixed")
        self.assertEqual(len(rp.tfrecords(self.folder / "fixed")), 49)
        failed = self.run_it(
            "convert",
            "train-*",
            "--to-dir",
            "out",
            "--compression",
            "gzip",
            "--keep-going",
            status=2,
        )
        self.assertIn("train-000.tfrecord", failed.stderr)
        self.assertEqual(
            sorted(os.listdir(self.folder / "out")), ["manifest.jsonl", "train-001.tfrecord.gz"]
        )
        for command in ["convert", "--to-dir", "some"], ["stats"]:
            failed = self.run_it(*command, "train-*", status=2)
            self.assertRegex(failed.stderr, "CRC.*--skip-corrupt skips what is damaged")
            self.assertNotIn("on_damage", failed.stderr)
            done = self.run_it(*command, "train-*", "--skip-corrupt")
            self.assertRegex(done.stderr, f"tfrecord {command[0]}: .*skipped ")
        self.assertEqual(len(rp.tfrecords(self.folder / "some")), 49)
        found = self.run_it("verify", "none", status=2)
        self.assertIn("none", found.stderr)


if __name__ == "__main__":
    unittest.main()
