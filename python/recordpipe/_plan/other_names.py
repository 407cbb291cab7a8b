"""What methods of tf.data.Dataset, and of tables, are called here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["OtherNames"]

_FUNCTIONS = (
    "choose_from_datasets",
    "from_generator",
    "list_files",
    "range",
    "sample_from_datasets",
    "zip",
)
_HERE = {
    "apply": "call the function itself: function(dataset)",
    "as_numpy_iterator": "iterate: elements are NumPy's arrays",
    "counter": "enumerate(), or recordpipe.range()",
    "element_spec": "features, or columns",
    "from_tensor_slices": "recordpipe.from_list(elements)",
    "from_tensors": "recordpipe.from_list([element])",
    "get_single_element": "next(iter(dataset))",
    "group_by_window": "bucket_by_sequence_length(), or scan()",
    "load": "recordpipe.tfrecords(path)",
    "options": "with_options()",
    "ragged_batch": "batch(), which makes a Ragged of features of any length",
    "fingerprint": "a state has a hash of the plan: state_dict()",
    "random": "map_with_random()",
    "rebatch": "unbatch().batch(size)",
    "reduce": "functools.reduce(function, dataset, initial)",
    "rejection_resample": "filter(), or recordpipe.sample_from_datasets()",
    "save": "write(path), or cache(path)",
    "snapshot": "cache(path)",
    "sparse_batch": "batch(), which makes a Ragged of features of any length",
    "to_polars": "polars.DataFrame(dataset)",
    "take_while": "itertools.takewhile(predicate, dataset)",
    "unique": "scan(), with a set as its state, and filter()",
    **{name: f"recordpipe.{name}()" for name in _FUNCTIONS},
}


class OtherNames:
    """Answers with the name here."""

    __slots__ = ()

    if not TYPE_CHECKING:  # which would take any name for a method

        def __getattr__(self, name: str) -> Any:
            what = f"a Dataset has no {name!r}"
            if name in _HERE:
                what += f"; here, it is {_HERE[name]}"
            raise AttributeError(what, name=name, obj=self)
