"""Defines the trainer's networks (trainer/model) in PyTorch, with the same variable names.

Modules are named like nodes, with _ instead of /: variable stage1/block0/conv1/weights is
stage1_block0_conv1.weight here.
"""
import torch
from torch import nn
from torch.nn import functional as F

SUFFIXES = {"weights": "weight", "biases": "bias", "gamma": "weight", "beta": "bias",
            "moving_mean": "running_mean", "moving_variance": "running_var"}


def load(network, variables):
    """Loads `variables`, tensors by the trainer's names. The names must match exactly."""
    state = {name: tensor for name, tensor in network.state_dict().items()
             if name.endswith("num_batches_tracked")}
    for name, tensor in variables.items():
        node, _, suffix = name.rpartition("/")
        state[f"{node.replace('/', '_')}.{SUFFIXES[suffix]}"] = tensor
    network.load_state_dict(state)


class ResNet(nn.Module):
    """ResNet v1 with 6n + 2 layers, as in trainer/include/recordpipe/trainer/model/resnet.h."""

    def __init__(self, layers):
        super().__init__()
        self.blocks = []
        self._convolution("conv", "bn", 3, 16)
        channels = 16
        for stage in (1, 2, 3):
            for block in range((layers - 2) // 6):
                name = f"stage{stage}_block{block}_"
                filters = 8 << stage
                stride = 2 if stage > 1 and block == 0 else 1
                self._convolution(name + "conv1", name + "bn1", channels, filters, stride)
                self._convolution(name + "conv2", name + "bn2", filters, filters)
                self.blocks.append((name, stride, filters - channels))
                channels = filters
        self.dense = nn.Linear(64, 11)

    def _convolution(self, conv, norm, inputs, outputs, stride=1):
        self.add_module(conv, nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False))
        self.add_module(norm, nn.BatchNorm2d(outputs, eps=1e-5, momentum=0.003))

    def forward(self, x):
        x = F.relu(self.bn(self.conv(x)), inplace=True)
        for name, stride, grown in self.blocks:
            def layer(kind, x, name=name):
                return getattr(self, name + kind)(x)
            shortcut = x
            if grown:
                pooled = F.avg_pool2d(x, stride)
                shortcut = F.pad(pooled, (0, 0, 0, 0, grown // 2, grown // 2))
            y = F.relu(layer("bn1", layer("conv1", x)), inplace=True)
            x = F.relu(layer("bn2", layer("conv2", y)).add_(shortcut), inplace=True)
        return self.dense(x.mean((2, 3)))

    def optimizer(self, learning_rate):
        return torch.optim.SGD(self.parameters(), learning_rate, momentum=0.9, weight_decay=2e-4,
                               fused=True)


class TutorialCnn(nn.Module):
    """The network of TensorFlow's CIFAR-10 tutorial, as in
    trainer/include/recordpipe/trainer/model/tutorial_cnn.h."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 5, padding=2)
        self.conv2 = nn.Conv2d(64, 64, 5, padding=2)
        # Divides alpha by the window size; the tutorial's function does not.
        self.norm = nn.LocalResponseNorm(9, alpha=0.001, beta=0.75, k=1)
        self.local3 = nn.Linear(2304, 384)
        self.local4 = nn.Linear(384, 192)
        self.softmax_linear = nn.Linear(192, 10)

    @staticmethod
    def _pool(x):
        # Windows cover 25x25 pixels, the image has 24x24: the pixels outside, at the right and the
        # bottom, are ignored.
        return F.max_pool2d(x, 3, 2, ceil_mode=True)

    def forward(self, x):
        x = self.norm(self._pool(F.relu(self.conv1(x), inplace=True)))
        x = self._pool(self.norm(F.relu(self.conv2(x), inplace=True)))
        # The weights expect inputs in the order [channels][height][width].
        x = x.flatten(1)
        x = F.relu(self.local3(x), inplace=True)
        x = F.relu(self.local4(x), inplace=True)
        return self.softmax_linear(x)

    def optimizer(self, learning_rate):
        decaying = [self.local3.weight, self.local4.weight]
        others = [p for p in self.parameters() if all(p is not d for d in decaying)]
        return torch.optim.SGD([{"params": decaying, "weight_decay": 0.004}, {"params": others}],
                               learning_rate, fused=True)


def make(name):
    return TutorialCnn() if name == "tutorial_cnn" else ResNet(int(name.removeprefix("resnet")))
