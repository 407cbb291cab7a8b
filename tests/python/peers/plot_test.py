"""stats().plot(), with matplotlib."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

import recordpipe as rp
from arrow_rows import needs
from support import FilesTest

try:
    import matplotlib
except ImportError:
    matplotlib = None


@needs(matplotlib, "matplotlib")
class Plot(FilesTest):
    def test_a_histogram_of_each_feature(self):
        path = self.folder / "a.tfrecord"
        rp.write_tfrecords(path, [{"label": i % 4, "text": b"t" * i} for i in range(32)])
        figure = rp.stats(path).plot()
        titles = [axes.get_title() for axes in figure.axes]
        self.assertEqual(titles, ["label (int64)", "text (bytes)"])
        steps = [axes.patches[0].get_data() for axes in figure.axes]
        self.assertEqual(steps[0].values.sum(), 32)
        self.assertEqual((steps[1].edges[0], steps[1].edges[-1]), (0, 31))
        figure.savefig(self.folder / "plot.png")
        self.assertGreater((self.folder / "plot.png").stat().st_size, 1000)

    def test_of_nothing_and_of_one_value(self):
        path = self.folder / "a.tfrecord"
        rp.write_tfrecords(path, [{"label": 3}] * 5)
        rp.stats(path).plot().savefig(self.folder / "plot.png")
        rp.stats(path, where="label > 9").plot().savefig(self.folder / "plot.png")


if __name__ == "__main__":
    unittest.main()
