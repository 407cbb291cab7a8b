"""Steps of episodes as tables of pyarrow and polars: a column for each feature of a row."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

import numpy as np
import recordpipe as rp
import rlds
from arrow_rows import needs

try:
    import polars
    import pyarrow
except ImportError:
    polars = None


@needs(polars, "polars and pyarrow")
class Tables(rlds.StepsTest):
    def test_columns_have_the_values_of_the_rows(self):
        steps = self.steps(offsets={"action": range(2)}, pad="zero")
        table = pyarrow.table(steps)
        self.assertEqual(table.num_rows, len(self.numbered))
        types = {field.name: str(field.type) for field in table.schema}
        self.assertEqual(types["tick"], "int64")
        self.assertEqual(types["is_first"], "bool")
        self.assertEqual(types["observation/image"], "large_binary")
        self.assertEqual(types["observation/state"], "fixed_size_list<item: float>[3]")
        self.assertEqual(
            types["action"], "fixed_size_list<item: fixed_size_list<item: float>[7]>[2]"
        )
        self.assertEqual(types["action_mask"], "fixed_size_list<item: bool>[2]")
        table.validate(full=True)
        for row, expected in zip(table.to_pylist(), steps, strict=True):
            self.assertEqual(row["tick"], expected["tick"])
            self.assertEqual(row["is_first"], expected["is_first"])
            self.assertEqual(row["language_instruction"], expected["language_instruction"])
            self.assertEqual(row["observation/image"], expected["observation"]["image"])
            state = expected["observation"]["state"]
            np.testing.assert_array_equal(row["observation/state"], state)
            np.testing.assert_array_equal(row["action"], expected["action"])
            np.testing.assert_array_equal(row["action_mask"], expected["action_mask"])

    def test_chosen_scalars_and_batches_in_polars(self):
        features = ["tick", "reward", "is_first", "episode_metadata/number"]
        steps = self.steps(features=features, min_length=8)
        frame = polars.DataFrame(steps)
        self.assertEqual(frame.columns, features)
        self.assertEqual(frame["is_first"].sum(), 3)
        self.assertEqual(frame["episode_metadata/number"].unique().to_list(), [3, 4, 5])
        batches = polars.DataFrame(steps.shuffle(seed=2).batch(10))
        self.assertFalse(batches.equals(frame))
        self.assertTrue(batches.sort("tick").equals(frame.sort("tick")))

    def test_decoded_images_are_refused_by_name(self):
        with self.assertRaisesRegex(rp.UnsupportedError, "observation/image.*decode_image"):
            pyarrow.table(self.steps().decode_image("observation/image"))


if __name__ == "__main__":
    unittest.main()
