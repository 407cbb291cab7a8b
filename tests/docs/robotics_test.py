#!/usr/bin/env python3
"""Runs all code blocks of docs/robotics.md, one after another, on small data sets.

Needs the Python package: PYTHONPATH.
"""
import contextlib
import io
import os
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/python"))

import rlds  # noqa: E402

PAGE = ROOT / "docs/robotics.md"


class Robotics(unittest.TestCase):
    def test_all_code_blocks(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        rlds.write(pathlib.Path(), 1, (400, 600, 3), name="robot_a")
        rlds.write(pathlib.Path(), 2, (50,), 1, name="robot_b", camera="front_image", parts=True)
        blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"),
                            re.MULTILINE | re.DOTALL)
        self.assertGreater(len(blocks), 6)
        names = {}
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            for block in blocks:
                exec(compile(block, str(PAGE), "exec"), names)  # noqa: S102
        self.assertIn("Dataset", printed.getvalue())
        # What the comments say.
        batch = next(iter(names["mixture"]))
        self.assertEqual(batch["camera"].shape, (64, 224, 224, 3))
        self.assertEqual(batch["action"].shape, (64, 8, 7))
        self.assertEqual(names["action"].q99.shape, (7,))
        self.assertEqual(names["ds"][0]["file"], b"episode_0")
        episodes = names["rp"].tfds("robot_a/1.0.0").map_episode(lambda episode: episode["steps"])
        self.assertEqual({step["goal"][0] for step in names["goals"]},
                         {steps["observation"]["image"][-1] for steps in episodes})


if __name__ == "__main__":
    unittest.main()
