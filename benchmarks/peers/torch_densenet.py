#!/usr/bin/env python3
"""One training step of a DenseNet in PyTorch on the CPU, timed on demand.

A worker for side_by_side.py: prints a JSON line once it is ready, then runs a
step for each line that it reads and prints {"seconds": ...}; at the end of its
input it prints {"peak_bytes": ...}, the growth of the process' peak resident
memory since before the network was made.

Modes
  naive          every concatenation and activation kept, as torchvision does
  checkpointed   norm, ReLU and 1x1 convolution of each layer computed again in
                 the backward pass, as torchvision's memory_efficient
  ...-channels-last   the same with channels-last tensors
  compile        naive channels-last under torch.compile
"""

import argparse
import json
import resource
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

MODES = (
    "naive",
    "checkpointed",
    "naive-channels-last",
    "checkpointed-channels-last",
    "compile",
)


class BottleneckLayer(nn.Module):
    def __init__(self, channels, growth, checkpointed):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv1 = nn.Conv2d(channels, 4 * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)
        self.checkpointed = checkpointed

    def bottleneck(self, *features):
        x = torch.cat(features, 1)
        return self.conv1(F.relu(self.norm1(x)))

    def forward(self, features):
        if self.checkpointed:
            b = checkpoint(self.bottleneck, *features, use_reentrant=False)
        else:
            b = self.bottleneck(*features)
        return self.conv2(F.relu(self.norm2(b)))


class Transition(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.conv = nn.Conv2d(channels, out, 1, bias=False)

    def forward(self, x):
        return F.avg_pool2d(self.conv(F.relu(self.norm(x))), 2)


class DenseNetBC(nn.Module):
    """DenseNet-BC for CIFAR, compression 0.5, as in the paper."""

    def __init__(self, depth, growth, classes, checkpointed):
        super().__init__()
        layers = (depth - 4) // 6
        channels = 2 * growth
        self.stem = nn.Conv2d(3, channels, 3, padding=1, bias=False)
        self.blocks = nn.ModuleList()
        self.transitions = nn.ModuleList()
        for block in range(3):
            self.blocks.append(
                nn.ModuleList(
                    BottleneckLayer(
                        channels + growth * i, growth, checkpointed
                    )
                    for i in range(layers)
                )
            )
            channels += growth * layers
            if block < 2:
                self.transitions.append(Transition(channels, channels // 2))
                channels //= 2
        self.norm = nn.BatchNorm2d(channels)
        self.classifier = nn.Linear(channels, classes)

    def forward(self, x):
        x = self.stem(x)
        for i, block in enumerate(self.blocks):
            features = [x]
            for layer in block:
                features.append(layer(features))
            x = torch.cat(features, 1)
            if i < len(self.transitions):
                x = self.transitions[i](x)
        x = F.relu(self.norm(x)).mean((2, 3))
        return self.classifier(x)


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def say(**fields):
    print(json.dumps(fields), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mode", choices=MODES, required=True)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--growth", type=int, default=12)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    before = peak_bytes()
    model = DenseNetBC(
        args.depth, args.growth, 10, args.mode.startswith("checkpointed")
    )
    images = torch.randn(args.batch, 3, 32, 32)
    labels = torch.randint(0, 10, (args.batch,))
    channels_last = args.mode.endswith("channels-last") or (
        args.mode == "compile"
    )
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
        images = images.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.01, momentum=0.9, nesterov=True
    )
    run = torch.compile(model) if args.mode == "compile" else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(run(images), labels).backward()
        optimizer.step()

    step()
    say(
        ready=args.mode,
        torch=torch.__version__,
        parameters=sum(p.numel() for p in model.parameters()),
    )
    for _ in sys.stdin:
        begin = time.perf_counter()
        step()
        say(seconds=time.perf_counter() - begin)
    say(peak_bytes=peak_bytes() - before)


if __name__ == "__main__":
    main()
