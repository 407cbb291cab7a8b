"""Makes data/network/values.json: what the layers of TensorFlow's CIFAR-10 tutorial make of small
inputs, and what one step of training makes of the whole network, worked out with NumPy from the
definitions.

    python3 -B data/make_network_values.py data/network/values.json

There is no backward pass here. A derivative comes from the forward pass on complex numbers (Squire
and Trapp 1998, https://doi.org/10.1137/S003614459631241X): f'(x) = imag(f(x + ih)) / h, exact to the
last digits. What is greatest or positive is decided by the real parts.
"""

import json
import sys

import numpy as np

H = 1e-30


def conv2d(x, w, bias, padding):
    """Stride 1; x [n][c][h][w], w [out][c][kernel][kernel]."""
    kernel = w.shape[2]
    height, width = (length + 2 * padding - kernel + 1 for length in x.shape[2:])
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    y = np.zeros((x.shape[0], w.shape[0], height, width), complex) + bias[None, :, None, None]
    for r in range(kernel):
        for s in range(kernel):
            y += np.einsum("nchw,oc->nohw", x[:, :, r:r + height, s:s + width], w[:, :, r, s],
                           optimize=True)
    return y


def same_padding(length, window, stride):
    """TensorFlow's: how many windows, and the padding before and after."""
    outputs = -(-length // stride)
    total = max((outputs - 1) * stride + window - length, 0)
    return outputs, total // 2, total - total // 2


def max_pool(x, window, stride):
    (height, top, bottom), (width, left, right) = (same_padding(length, window, stride)
                                                   for length in x.shape[2:])
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=-np.inf)
    places = np.stack([x[:, :, r:r + (height - 1) * stride + 1:stride,
                         s:s + (width - 1) * stride + 1:stride]
                       for r in range(window) for s in range(window)])
    return np.take_along_axis(places, places.real.argmax(axis=0)[None], axis=0)[0]


def local_response_norm(x, radius, bias, alpha, beta):
    channels = np.arange(x.shape[1])
    neighbours = (abs(channels[:, None] - channels) <= radius).astype(complex)
    return x * (bias + alpha * np.einsum("cd,ndhw->nchw", neighbours, x * x)) ** -beta


def dense(x, w, bias):
    return x.reshape(x.shape[0], -1) @ w.T + bias


def relu(x):
    return np.where(x.real > 0, x, 0)


def cross_entropy(logits, labels):
    logits = logits - logits.real.max(axis=1, keepdims=True)
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return -log_p[np.arange(len(labels)), labels].mean()


def derivative(function, values, index):
    """Of function() by one number of the complex array that it reads."""
    values.flat[index] += 1j * H
    result = function().imag / H
    values.flat[index] -= 1j * H
    return float(result) + 0.0  # not -0


def noise(stream, shape):
    """Numbers in [-1, 1), multiples of 2^-23; the tests make the same ones."""
    h = np.arange(np.prod(shape), dtype=np.uint64)
    mask = np.uint64(0xFFFFFFFF)
    h = (h + np.uint64(stream * 0x9E3779B9 + 1)) * np.uint64(2654435761) & mask
    h ^= h >> np.uint64(15)
    h = h * np.uint64(0x85EBCA6B) & mask
    h ^= h >> np.uint64(13)
    return ((h >> np.uint64(8)).astype(float) / 2**23 - 1).reshape(shape).astype(complex)


def rounded(stream, shape, scale):
    return np.round(noise(stream, shape).real * 1024) / 1024 * scale + 0j


def layer(kind, options, function, shapes, scale=1):
    """A layer's output y, and the derivatives of Σ dy · y by each of its inputs."""
    inputs = {name: rounded(stream, shape, scale)
              for stream, (name, shape) in enumerate(shapes.items(), start=100)}
    y = function(**inputs)
    dy = rounded(99, y.shape, 1)
    case = {"layer": kind, **options, "in": list(shapes["x"]), "out": list(y.shape),
            "y": y.real.ravel().tolist(), "dy": dy.real.ravel().tolist()}
    for name, values in inputs.items():
        case[name] = values.real.ravel().tolist()
        case["d" + name] = [derivative(lambda: (dy * function(**inputs)).sum(), values, i)
                            for i in range(values.size)]
    return case


def layers():
    yield layer("conv2d", {"kernel": 5, "padding": 2},
                lambda x, w, bias: relu(conv2d(x, w, bias, 2)),
                {"x": (2, 2, 5, 4), "w": (3, 2, 5, 5), "bias": (3,)})
    yield layer("dense", {}, lambda x, w, bias: relu(dense(x, w, bias)),
                {"x": (2, 5, 1, 1), "w": (4, 5), "bias": (4,)})
    for shape, window, stride in [((2, 2, 6, 6), 3, 2), ((1, 1, 5, 7), 3, 2),
                                  ((1, 2, 7, 6), 2, 3), ((1, 1, 4, 3), 3, 1)]:
        yield layer("max_pool", {"window": window, "stride": stride},
                    lambda x, window=window, stride=stride: max_pool(x, window, stride),
                    {"x": shape})
    for shape, scale, constants in [((1, 11, 2, 1), 32, (4, 1.0, 0.001 / 9, 0.75)),
                                    ((2, 5, 1, 2), 4, (2, 2.0, 0.5, 0.75)),
                                    ((1, 4, 1, 2), 4, (1, 1.0, 0.3, 0.5))]:
        names = ("radius", "bias", "alpha", "beta")
        yield layer("local_response_norm", {"constants": dict(zip(names, constants))},
                    lambda x, constants=constants: local_response_norm(x, *constants),
                    {"x": shape}, scale)


LEARNING_RATE, WEIGHT_DECAY = 0.1, 0.004
# Shape, and what the noise is multiplied with.
VARIABLES = {
    "conv1/weights": ((64, 3, 5, 5), 2**-3),
    "conv1/biases": ((64,), 2**-3),
    "conv2/weights": ((64, 64, 5, 5), 2**-4),
    "conv2/biases": ((64,), 2**-3),
    "local3/weights": ((384, 64 * 6 * 6), 2**-5),
    "local3/biases": ((384,), 2**-3),
    "local4/weights": ((192, 384), 2**-4),
    "local4/biases": ((192,), 2**-3),
    "softmax_linear/weights": ((10, 192), 2**-3),
    "softmax_linear/biases": ((10,), 2**-3),
}
DECAYED = ("local3/weights", "local4/weights")


def logits_of(x, v):
    norm = {"radius": 4, "bias": 1, "alpha": 0.001 / 9, "beta": 0.75}
    x = relu(conv2d(x, v["conv1/weights"], v["conv1/biases"], 2))
    x = local_response_norm(max_pool(x, 3, 2), **norm)
    x = relu(conv2d(x, v["conv2/weights"], v["conv2/biases"], 2))
    x = max_pool(local_response_norm(x, **norm), 3, 2)
    x = relu(dense(x, v["local3/weights"], v["local3/biases"]))
    x = relu(dense(x, v["local4/weights"], v["local4/biases"]))
    return dense(x, v["softmax_linear/weights"], v["softmax_linear/biases"])


def step():
    """Gradient descent without momentum, on two images."""
    images, labels = 2 * noise(0, (2, 3, 24, 24)), [3, 7]
    values = {name: scale * noise(stream, shape)
              for stream, (name, (shape, scale)) in enumerate(VARIABLES.items(), start=1)}
    assert sum(v.size for v in values.values()) == 1_068_298
    logits = logits_of(images, values)
    penalty = sum((values[name].real ** 2).sum() / 2 for name in DECAYED)
    result = {"images": {"stream": 0, "scale": 2}, "labels": labels,
              "learning_rate": LEARNING_RATE, "weight_decay": WEIGHT_DECAY,
              "logits": logits.real.ravel().tolist(),
              "loss": float(cross_entropy(logits, labels).real),
              "half_squared_norm": float(penalty), "variables": []}
    rng = np.random.default_rng(1)
    for stream, (name, (shape, scale)) in enumerate(VARIABLES.items(), start=1):
        v = values[name]
        # Of the drawn ones those that say most: many are zero, behind a ReLU.
        drawn = {int(i): derivative(lambda: cross_entropy(logits_of(images, values), labels), v, i)
                 for i in rng.choice(v.size, min(v.size, 60), replace=False)}
        indices = sorted(drawn, key=lambda i: -abs(drawn[i]))[:8]
        gradients = [drawn[i] for i in indices]
        decay = WEIGHT_DECAY if name in DECAYED else 0
        updated = [float(v.flat[i].real - LEARNING_RATE * (g + decay * v.flat[i].real))
                   for i, g in zip(indices, gradients)]
        result["variables"].append({"name": name, "stream": stream, "scale": scale,
                                    "indices": indices, "gradients": gradients,
                                    "updated": updated})
    return result


def main():
    values = {"layers": list(layers()), "tutorial_cnn_step": step()}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        lines = ",\n".join(map(json.dumps, values["layers"]))
        file.write('{"layers": [\n' + lines + '],\n"tutorial_cnn_step":\n')
        file.write(json.dumps(values["tutorial_cnn_step"], indent=1) + "}\n")


main()
