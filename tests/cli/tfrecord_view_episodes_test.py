#!/usr/bin/env python3
"""Tests what the page of tfrecord view has of RLDS episodes. tests/tools has those of their parts,
and tests/view opens the page in a browser."""
import base64
import math
import unittest

from tfrecord_test_case import named_example
from tfrecord_create_case import png
from tfrecord_view_case import ViewTest, cards, note


def episode(steps, **features):
    """With two cameras, and the instruction of each step."""
    return named_example({
        "steps/is_first": [int(step == 0) for step in range(steps)],
        "steps/is_last": [int(step == steps - 1) for step in range(steps)],
        "steps/reward": [step / 2 for step in range(steps)],
        "steps/action": [math.sin(i) for i in range(7 * steps)],
        "steps/observation/image": [png(step + 1, 8) for step in range(steps)],
        "steps/observation/wrist": [png(300, 200)] * steps,
        "steps/language_instruction": ["pick"] * steps, **features})


class Episodes(ViewTest):
    def test_frames_and_plots(self):
        self.write("a", episode(3), episode(1), named_example({"x": [1]}))
        page = self.page("a")
        found, single, other = cards(page)
        self.assertNotIn("episode", other)
        self.assertEqual([card["episode"]["steps"] for card in (found, single)], [3, 1])
        (name, frames), (wrist, small) = found["episode"]["strips"]
        self.assertEqual((name, wrist), ("observation/image", "observation/wrist"))
        self.assertEqual([step for step, _ in frames], [0, 1, 2])
        self.assertEqual([base64.b64decode(image["data"]) for _, image in frames],
                         [png(step + 1, 8) for step in range(3)])
        self.assertLess(len(base64.b64decode(small[0][1]["data"])), len(png(300, 200)))
        self.assertEqual([(plot["name"], plot["dimensions"], plot["max"], len(plot["lines"]))
                          for plot in found["episode"]["plots"]],
                         [("action", 7, "0.990607", 7), ("reward", 1, "1", 1)])
        self.assertEqual(note(page), (
            "All 3 records. Episodes: up to 8 frames of up to 3 cameras, large ones reduced to 96 "
            "pixels; up to 12 features, a line for each dimension."))
        self.assertIn(["steps/reward", "float", "0, 0.5, 1"], found["features"])

    def test_an_image_beside_flags_of_steps(self):
        self.write("a", named_example({"steps/is_first": [1, 0], "image": [png(8, 8)]}))
        card, = cards(self.page("a"))
        self.assertNotIn("episode", card)
        self.assertEqual(base64.b64decode(card["image"]["data"]), png(8, 8))

    def test_one_camera(self):
        self.write("a", episode(2), episode(2))
        for card in cards(self.page("a", "--image", "steps/observation/wrist")):
            self.assertEqual([name for name, _ in card["episode"]["strips"]], ["observation/wrist"])
        self.expect_failure("no record has a feature named wrist; there are", "view", "a", "-o",
                            "page.html", "--image", "wrist")
        self.expect_failure("feature steps/reward has no single value of bytes", "view", "a", "-o",
                            "page.html", "--image", "steps/reward")

    def test_frames_as_they_are_within_the_limit(self):
        self.write("a", *[episode(12) for _ in range(20)])
        page = self.page("a", "--thumbnails", "0")
        self.assertIn("of up to 3 cameras; up to 12", note(page))
        frames = cards(page)[0]["episode"]["strips"][1][1]
        self.assertEqual(base64.b64decode(frames[7][1]["data"]), png(300, 200))
        small = self.page("a", "--thumbnails", "0", "--max-bytes", "10000")
        self.assertLess(len(small), 100_000)
        self.assertIn("this page takes up to", cards(small)[0]["episode"]["strips"][1][1][0][1]["problem"])

    def test_names_are_escaped(self):
        evil = "</script><b>'\""
        self.write("a", episode(2, **{f"steps/{evil}": [1.0, 2.0], f"steps/{evil}2": [png(1, 1)] * 2}))
        page = self.page("a")
        self.assertNotIn("<b>", page)
        found = cards(page)[0]["episode"]
        self.assertIn(evil, [plot["name"] for plot in found["plots"]])
        self.assertIn(evil + "2", [name for name, _ in found["strips"]])


if __name__ == "__main__":
    unittest.main()
