"""What tests of tfrecord export share: a file of Examples, and what was made of it."""
import os

from tfrecord_test_case import TfrecordTest, named_example

EXAMPLES = [{"box": [0.5, 1.0], "id": [7], "name": ["a,\"b\"\n"], "raw": [b"\xff\0"]},
            {"id": [-1], "name": ["[x]"]},
            {"id": [0], "name": [""], "tags": ["x", "y"]}]


class ExportTest(TfrecordTest):
    def setUp(self):
        super().setUp()
        self.write("a", *map(named_example, EXAMPLES))

    def read(self, name):
        return (self.folder / name).read_bytes()

    def names(self):
        return sorted(os.listdir(self.folder))

    def same_again(self, name, *arguments):
        self.run_it("create", name, "-o", "again", *arguments)
        self.assertEqual(self.read("again"), self.read("a"))
