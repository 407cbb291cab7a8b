"""Makes data/tensors: tensors [[0, 1, 2], [3, 4, 5]] (bool: their parity) that TensorFlow wrote.

    build/peers/bin/python data/make_tensors.py data/tensors

Needs TensorFlow (tests/peers/setup installs it). TYPE-content.tensor is of tf.io.serialize_tensor,
TYPE-list.tensor has its values in the list of its type, packed; they are the same bytes in each
run. repeated.tensor is [[7, 7, 7], [7, 7, 7]] of float32, with one number.
"""

import os
import pathlib
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

TYPES = [
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "bool"),
]
folder = pathlib.Path(sys.argv[1])
folder.mkdir(exist_ok=True)
for name in TYPES:
    numbers = np.arange(6).reshape(2, 3)
    dtype = tf.as_dtype(name)
    values = (numbers % 2 if name == "bool" else numbers).astype(dtype.as_numpy_dtype)
    tensor = tf.constant(values)
    (folder / f"{name}-content.tensor").write_bytes(tf.io.serialize_tensor(tensor).numpy())
    listed = tf.make_tensor_proto(values.ravel()[:1], dtype=dtype, shape=[2, 3])
    for value in values.ravel()[1:]:
        listed.MergeFrom(tf.make_tensor_proto(np.array([value]), dtype=dtype, shape=[]))
    (folder / f"{name}-list.tensor").write_bytes(listed.SerializeToString())
repeated = tf.make_tensor_proto(7.0, dtype=tf.float32, shape=[2, 3])
(folder / "repeated.tensor").write_bytes(repeated.SerializeToString())
