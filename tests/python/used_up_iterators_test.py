"""Functions that return an iterator which was used up before."""

import itertools
import tempfile
import time
import unittest

import recordpipe as rp


class UsedUpIterators(unittest.TestCase):
    def test_a_generator_object_is_not_used_twice(self):
        for made in (
            (x for x in range(5)),
            iter([0, 1, 2, 3, 4]),
            map(int, range(5)),
        ):
            dataset = rp.from_generator(lambda made=made: made)
            self.assertEqual([*dataset], [0, 1, 2, 3, 4])
            for _ in range(2):
                with self.assertRaisesRegex(rp.InvalidArgumentError, "from_generator.*used up"):
                    list(dataset)

    def test_in_flat_map(self):
        made = (x for x in range(5))
        iterator = iter(rp.from_list([1, 2]).flat_map(lambda _: made))
        self.assertEqual([next(iterator) for _ in range(5)], [0, 1, 2, 3, 4])
        with self.assertRaisesRegex(rp.InvalidArgumentError, "flat_map.*used up"):
            next(iterator)

    def test_iterators_that_end_by_python_code(self):
        def slow():
            try:
                yield from range(9)
            finally:
                time.sleep(0.0001)  # releases the GIL to the other threads

        numbers = rp.from_list(range(300))
        for make in (lambda _: map(max, slow(), [1, 2]), lambda _: itertools.islice(slow(), 2)):
            made = numbers.flat_map(make).with_options(threads=4, chunk_size=4)
            self.assertEqual(sum(1 for _ in made), 600)

    def test_what_starts_again_may_be_returned_again(self):
        class Restarted:
            def __iter__(self):
                self.rest = [2, 1]
                return self

            def __next__(self):
                if not self.rest:
                    raise StopIteration
                return self.rest.pop()

        with tempfile.TemporaryFile("w+") as file:
            file.write("1\n2\n")

            def rewound(_=0):
                file.seek(0)
                return file

            for dataset in (rp.from_generator(rewound), rp.from_list([0]).flat_map(rewound)):
                for _ in range(3):
                    self.assertEqual([*dataset], ["1\n", "2\n"])
        same, listed = Restarted(), [1, 2]
        for function in (lambda: same, lambda: listed, lambda: iter(listed)):
            dataset = rp.from_generator(function)
            for _ in range(3):
                self.assertEqual([*dataset], [1, 2])


if __name__ == "__main__":
    unittest.main()
