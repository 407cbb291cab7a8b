"""Reports in notebooks: tables with bars, and the plot of statistics."""

import unittest

import numpy as np
import recordpipe as rp
import rlds
from html_test import Page
from support import FilesTest


class Tables(FilesTest):
    def setUp(self):
        super().setUp()
        self.paths = [self.folder / f"<b>-{i}.tfrecord" for i in range(2)]
        for path, count in zip(self.paths, (32, 8), strict=True):
            examples = [{"label": i % 4, "text": b"t" * i} for i in range(count)]
            rp.write_tfrecords(path, examples)

    def rows(self, report):
        page = Page(report._repr_html_())
        self.assertLessEqual(page.attributes, {"class"})
        self.assertNotIn("b", page.tags)  # names are text
        return page.rows

    def damage(self):
        content = bytearray(self.paths[1].read_bytes())
        content[14] ^= 1
        self.paths[1].write_bytes(content)

    def test_info(self):
        head, first, second = self.rows(rp.info(self.paths))
        self.assertEqual(head[:3], ["file", "records", "bytes"])
        self.assertEqual(first[:2], [str(self.paths[0]), "32"])
        self.assertEqual(first[2], f"{16 * '█'} {self.paths[0].stat().st_size:,}")
        self.assertLess(second[2].count("█"), 5)

    def test_verify_has_what_is_damaged_first(self):
        self.damage()
        _, first, second = self.rows(rp.verify(self.paths))
        self.assertEqual(first[:3], [str(self.paths[1]), "damaged", "7"])
        self.assertRegex(first[3], r"^[▏▎▍▌▋▊▉█]+ \d+$")
        self.assertEqual(second[:2], [str(self.paths[0]), "intact"])
        self.assertIn("1 damaged", Page(rp.verify(self.paths)._repr_html_()).text)

    def test_schema(self):
        extra = self.folder / "more.tfrecord"
        rp.write_tfrecords(extra, [{"label": 1}] * 40)
        rows = self.rows(rp.schema([*self.paths, extra]))
        share = f"{16 * '█'} 100 % of the records"
        self.assertEqual(rows[1], ["label", "int64", share, "1 value"])
        self.assertEqual(rows[2][2], f"{8 * '█'} 50 % of the records")

    def test_stats(self):
        rows = self.rows(rp.stats(self.paths[0]))
        self.assertEqual(rows[1][:3], ["label", "int64", "32 values"])
        self.assertEqual(rows[1][4].replace(" ", ""), "████")
        self.assertEqual(rows[2][4], 16 * "█")

    def test_many_files_are_cut(self):
        many = rp.VerifyReport(rp.verify(self.paths[0]).files * 250)
        page = Page(many._repr_html_())
        self.assertEqual(len(page.rows), 101)
        self.assertIn("... 150 more", page.text)


class Episodes(rlds.StepsTest):
    def test_statistics_and_data_sets(self):
        statistics = rp.episode_statistics(rp.tfds(self.data), ["action", "tick"], keep=False)
        page = Page(statistics._repr_html_())
        self.assertEqual(len(page.rows), 1 + 7 + 1)
        self.assertEqual(page.rows[1][0], "action[0]")
        self.assertEqual(page.rows[8][0], "tick")
        self.assertEqual(page.rows[1][1], f"{float(statistics['action'].mean[0]):.4g}")
        self.assertRegex(page.rows[1][7], "^█+")
        unknown = rp.StepStatistics(*(np.full(1, np.nan) for _ in range(6)))
        self.assertIn("nan", rp.EpisodeStatistics({"a": unknown}, 1, 1)._repr_html_())
        rows = Page(rp.tfds_info(self.data)._repr_html_()).rows
        self.assertEqual(rows[1], ["train", f"{16 * '█'} 6 Examples", "2 files"])
        self.assertTrue(any("action" in row[0] for row in rows))

    def test_the_first_steps_and_episodes(self):
        page = Page(self.steps(features=["observation/image", "tick", "action"])._repr_html_())
        self.assertEqual(len(page.rows), 1 + 5)
        self.assertEqual(page.rows[0][0][:17], "observation/image")
        self.assertIn("float32 7", page.rows[0][2])
        self.assertEqual(page.rows[1][0], "[image]")
        self.assertEqual(page.rows[1][1], str(self.episodes[0]["tick"][0]))
        self.assertIn("the first 5 steps", page.text)
        page = Page(rp.tfds(self.data)._repr_html_())
        column = [cell.startswith("steps/observation/image") for cell in page.rows[0]].index(True)
        self.assertEqual(page.rows[1][column].count("[image]"), 5)  # a film strip
        self.assertIn("... 17", page.rows[4][column])


if __name__ == "__main__":
    unittest.main()
