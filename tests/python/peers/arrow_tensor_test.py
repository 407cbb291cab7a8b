"""Tensors of tf.io.serialize_tensor as columns of Arrow."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

import numpy as np
import recordpipe as rp
from support import FilesTest

try:
    import pyarrow as pa
except ImportError:
    pa = None

FEATURES = {
    "id": rp.FixedLenFeature([], "int64"),
    "steps": rp.TensorFeature([None, 2], "float32"),
    "mask": rp.TensorFeature([2, 3], "bool"),
}


@unittest.skipIf(pa is None, "pyarrow is not installed")
class TensorColumns(FilesTest):
    def test_missing_tensors_are_null(self):
        steps = [np.full((i, 2), i + 0.5, np.float32) for i in range(100)]
        mask = [np.arange(6).reshape(2, 3) % (i + 2) == 0 for i in range(100)]
        path = self.folder / "tensors.tfrecord"
        with rp.Writer(path) as writer:
            for i in range(100):
                tensors = {
                    "steps": rp.serialize_tensor(steps[i]),
                    "mask": rp.serialize_tensor(mask[i]),
                }
                writer.write({"id": i} if i % 9 == 2 else {"id": i} | tensors)
        dataset = rp.tfrecords(path).parse(FEATURES)
        table = pa.table(dataset.batch(32))
        table.validate(full=True)
        for i, row in enumerate(table.to_pylist()):
            missing = i % 9 == 2
            self.assertEqual(row["steps"], None if missing else steps[i].tolist())
            self.assertEqual(row["mask"], None if missing else mask[i].tolist())
        with self.assertRaisesRegex(rp.NotFoundError, "missing"):
            list(dataset.batch(32))


if __name__ == "__main__":
    unittest.main()
