"""An iterator keeps its place if a state is refused on the way to it."""

import unittest

import recordpipe as rp


def fails(value):
    raise ValueError(value)


class Refused(unittest.TestCase):
    def test_the_place_is_kept(self):
        for name, short in {
            "generator": lambda n: rp.from_generator(lambda: iter(range(n[0]))),
            "filter": lambda n: rp.from_list(range(10)).filter(lambda x: x < n[0]),
            "flat_map": lambda n: rp.from_list([0]).flat_map(lambda _: range(n[0])),
            "scan": lambda n: rp.from_generator(lambda: iter(range(n[0]))).scan(
                [], lambda s, x: (s, x)
            ),
        }.items():
            for after in (
                lambda ds: ds,
                lambda ds: ds.batch(1).unbatch(),
                lambda ds: ds.take(9),
                lambda ds: ds.shuffle(1),
                lambda ds: ds.prefetch(2),
                lambda ds: ds.repeat(2).take(9),
            ):
                with self.subTest(name):
                    size = [10]
                    dataset = after(short(size))
                    saved = iter(dataset)
                    for _ in range(8):
                        next(saved)
                    state = saved.state_dict()
                    size[0] = 5
                    iterator = iter(dataset.epoch(3))
                    self.assertEqual([next(iterator) for _ in range(3)], [0, 1, 2])
                    try:
                        iterator.load_state_dict(state, compare_code=False)
                    except rp.InvalidArgumentError:
                        self.assertEqual((iterator.position, iterator.epoch), (3, 3))
                        self.assertEqual(next(iterator), 3)
                        self.assertEqual(iterator.position, 4)

    def test_an_iterator_that_has_failed_fails_again(self):
        size = [10]
        dataset = rp.from_generator(lambda: iter(range(size[0])))
        saved = iter(dataset)
        for _ in range(8):
            next(saved)
        state = saved.state_dict()
        size[0] = 5
        iterator = iter(dataset.map(lambda x: fails(x) if x == 2 else x))
        self.assertEqual([next(iterator) for _ in range(2)], [0, 1])
        for _ in range(2):
            with self.assertRaises(ValueError):
                next(iterator)
            with self.assertRaises(rp.InvalidArgumentError):
                iterator.load_state_dict(state, compare_code=False)
            self.assertEqual(iterator.position, 2)

    def test_an_element_that_was_not_converted_is_kept(self):
        iterator = iter(rp.from_list(range(3)))
        allowed = []

        def convert(value):
            if not allowed:
                raise RuntimeError
            return value

        iterator._set_conversion(convert)
        with self.assertRaises(RuntimeError):
            next(iterator)
        with self.assertRaises(rp.InvalidArgumentError):
            iterator._restore(b"")
        allowed.append(True)
        self.assertEqual([*iterator], [0, 1, 2])


if __name__ == "__main__":
    unittest.main()
