"""What the tests of functions in a plan have in common."""

import contextlib
import json

import recordpipe as rp

NUMBERS = rp.from_list(range(20))


def first(value):
    return value


def second(value):
    return value or None


class Scaled:
    def __init__(self, by, lock=None):
        self.by = by
        if lock:
            self.lock = lock

    def __call__(self, value):
        with getattr(self, "lock", contextlib.nullcontext()):
            return value * self.by

    def scale(self, value):
        return value * self.by


def times(by):
    return lambda value: value * by


def compiled(source, name="function", **variables):
    exec(source, variables)
    return variables[name]


class FunctionStates:
    def state_of(self, dataset):
        return json.loads(json.dumps(iter(dataset).state_dict()))

    def restored(self, state, dataset, **options):
        iterator = iter(dataset)
        iterator.load_state_dict(state, **options)
        return iterator
