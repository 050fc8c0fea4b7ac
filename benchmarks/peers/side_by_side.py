#!/usr/bin/env python3
"""The same DenseNet-BC training step in PyTorch and here, in one run.

    benchmarks/peers/side_by_side.py --densenet build/release-cpu/densenet

needs a Python with torch (nothing else of this project does); runs on the CPU.
Every round runs one step of each PyTorch mode and a short benchmark of each of
our strategies in turn, so that whatever else the machine does meets all of
them. Prints median step time and images/s of each, the growth of the process'
peak resident memory, and ours against the best PyTorch mode.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import torch_densenet

HERE = os.path.dirname(os.path.abspath(__file__))
STRATEGIES = (
    "naive",
    "shared-concat",
    "recompute-bn",
    "fused",
    "features-only",
)


class Peer:
    """A PyTorch mode in a process of its own."""

    def __init__(self, mode, args):
        self.mode = mode
        self.seconds = []
        self.process = subprocess.Popen(
            [
                sys.executable,
                os.path.join(HERE, "torch_densenet.py"),
                "--mode",
                mode,
                "--depth",
                str(args.depth),
                "--growth",
                str(args.growth),
                "--batch",
                str(args.batch),
                "--threads",
                str(args.threads),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.ready = self._read()

    def _read(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def step(self, record):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        answer = self._read()
        if answer is None:
            raise RuntimeError(f"PyTorch mode {self.mode} ended")
        if record:
            self.seconds.append(answer["seconds"])

    def finish(self):
        self.process.stdin.close()
        answer = self._read()
        self.process.wait()
        return answer["peak_bytes"]


def run_json(command):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out.json")
        subprocess.run(
            command + ["--json", path], check=True, stdout=subprocess.DEVNULL
        )
        with open(path, encoding="utf-8") as file:
            return json.load(file)


def network_options(args):
    return [
        "--depth",
        str(args.depth),
        "--growth",
        str(args.growth),
        "--bottleneck",
        "--batch",
        str(args.batch),
        "--threads",
        str(args.threads),
    ]


def bench(args, strategy):
    return run_json(
        [args.densenet, "bench", *network_options(args)]
        + ["--strategy", strategy, "--steps", "1", "--warm-up", "1"]
    )


def resident_bytes(args, strategy):
    rows = run_json(
        [args.densenet, "memory", *network_options(args)]
        + ["--strategy", strategy]
    )["rows"]
    return rows[0]["resident_bytes"]


def print_row(name, seconds, resident, args):
    middle = statistics.median(seconds)
    print(
        f"{name:<36} {middle:8.3f} {min(seconds):8.3f} {max(seconds):8.3f}"
        f" {args.batch / middle:9.1f} {resident / 1e6:10.0f}"
    )
    return middle


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--densenet", required=True, help="our program")
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--growth", type=int, default=12)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--modes",
        default=",".join(torch_densenet.MODES),
        help="PyTorch modes, separated by commas",
    )
    parser.add_argument(
        "--strategies", default=",".join(STRATEGIES), help="of ours"
    )
    args = parser.parse_args()
    peers = []
    for mode in args.modes.split(","):
        peer = Peer(mode, args)
        if peer.ready is None:
            print(f"PyTorch {mode}: does not work here, left out")
        else:
            peers.append(peer)
    ours = {strategy: [] for strategy in args.strategies.split(",")}
    for round_number in range(args.rounds + 1):
        record = round_number > 0  # the first warms up
        for peer in peers:
            peer.step(record)
        for strategy, seconds in ours.items():
            result = bench(args, strategy)
            if record:
                seconds.append(result["step_seconds"])
    version = peers[0].ready["torch"] if peers else "none"
    print(
        f"DenseNet-BC-{args.depth}-{args.growth}, batch {args.batch}, "
        f"{args.threads} threads, {args.rounds} rounds, PyTorch {version}"
    )
    print(
        f"{'':<36} {'median s':>8} {'fastest':>8} {'slowest':>8}"
        f" {'images/s':>9} {'peak MB':>10}"
    )
    best = min(
        print_row(f"PyTorch {p.mode}", p.seconds, p.finish(), args)
        for p in peers
    )
    for strategy, seconds in ours.items():
        middle = print_row(
            f"densenet {strategy}",
            seconds,
            resident_bytes(args, strategy),
            args,
        )
        print(f"{'':<36} {best / middle:.2f} x the best PyTorch mode")


if __name__ == "__main__":
    main()
