#!/usr/bin/env python3
"""Images a second that this program and PyTorch prepare from the same files.

Both decode the JPEG and PNG files of a class folder and augment them as for
ImageNet training: random resized crop to 224, mirror, brightness, contrast and
saturation by 0.4, PCA lighting by 0.1, normalization. Each has the same number
of workers; rounds of the two alternate in one run, and the median counts.

    peers/bin/pip install torch torchvision
    peers/bin/python benchmarks/peers/input_side_by_side.py \\
        --densenet build/release-cpu/densenet --data DIR --workers 2

DIR has train/<class>/ and val/<class>/. PyTorch's time is that of
torch.utils.data.DataLoader with persistent workers, from its second epoch on.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import torch
import torchvision
from torchvision import transforms

EIGENVALUES = torch.tensor([0.2175, 0.0188, 0.0045])
EIGENVECTORS = torch.tensor([[-0.5675, 0.7192, 0.4009],
                             [-0.5808, -0.0045, -0.8140],
                             [-0.5836, -0.6948, 0.4203]])


class Lighting:
    """A shift along the principal components of ImageNet's colours."""

    def __call__(self, image):
        weights = torch.randn(3) * 0.1 * EIGENVALUES
        return image + (EIGENVECTORS @ weights).view(3, 1, 1)


def make_loader(folder, batch, workers, size):
    transform = transforms.Compose([
        transforms.RandomResizedCrop(size),
        transforms.RandomHorizontalFlip(),
        transforms.ColorJitter(0.4, 0.4, 0.4),
        transforms.ToTensor(),
        Lighting(),
        transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ])
    images = torchvision.datasets.ImageFolder(str(folder / 'train'), transform)
    return torch.utils.data.DataLoader(
        images, batch_size=batch, shuffle=True, num_workers=workers,
        persistent_workers=True, prefetch_factor=2)


def torch_round(loader, seconds):
    """Whole epochs until the time is over."""
    count = 0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        for images, _ in loader:
            count += images.shape[0]
    return count / (time.perf_counter() - start)


def densenet_round(args):
    with tempfile.TemporaryDirectory() as folder:
        result = pathlib.Path(folder) / 'input.json'
        subprocess.run(
            [args.densenet, 'bench', '--input', '--dataset', 'folder', '--data',
             str(args.data), '--augment', 'imagenet', '--image-size',
             str(args.size), '--workers', str(args.workers), '--prefetch', '2',
             '--batch', str(args.batch), '--seconds', str(args.seconds),
             '--json', str(result)],
            check=True, stdout=subprocess.DEVNULL)
        return json.loads(result.read_text())['images_per_second']


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--densenet', required=True)
    parser.add_argument('--data', type=pathlib.Path, required=True)
    parser.add_argument('--workers', type=int, default=2)
    parser.add_argument('--batch', type=int, default=32)
    parser.add_argument('--size', type=int, default=224)
    parser.add_argument('--seconds', type=float, default=5)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--json', type=pathlib.Path)
    args = parser.parse_args()

    torch.set_num_threads(1)
    loader = make_loader(args.data, args.batch, args.workers, args.size)
    torch_round(loader, 0.1)  # starts the workers
    ours, theirs = [], []
    for _ in range(args.rounds):
        ours.append(densenet_round(args))
        theirs.append(torch_round(loader, args.seconds))
    result = {
        'densenet_images_per_second': statistics.median(ours),
        'torch_images_per_second': statistics.median(theirs),
        'ratio': statistics.median(ours) / statistics.median(theirs),
        'densenet_rounds': ours,
        'torch_rounds': theirs,
        'workers': args.workers,
        'torch': torch.__version__,
        'torchvision': torchvision.__version__,
    }
    print(f"densenet  {result['densenet_images_per_second']:8.1f} images/s  "
          f"{[round(r, 1) for r in ours]}")
    print(f"PyTorch   {result['torch_images_per_second']:8.1f} images/s  "
          f"{[round(r, 1) for r in theirs]}")
    print(f"ratio     {result['ratio']:8.2f}  ({args.workers} workers, torch "
          f"{torch.__version__}, torchvision {torchvision.__version__})")
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + '\n')


if __name__ == '__main__':
    main()
