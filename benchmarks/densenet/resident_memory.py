#!/usr/bin/env python3
"""Resident memory of training on a record set that is larger than its limit.

    benchmarks/densenet/resident_memory.py --densenet build/release-cpu/densenet \\
        --data photos --work DIR --gib 4 --limit-mib 1024 --seconds 600

Writes the class folders in --data as records to DIR, repeats the shards until
they have --gib GiB, and trains a small network on them with one worker, under
an address space of --limit-mib MiB: neither reading the set into memory nor
mapping it would fit. The process' resident memory is read every second and
written to DIR/resident.csv; pages of files that the system caches are not part
of it. Fails when the last minute's mean is further than 1 % from the third's.
"""

import argparse
import csv
import pathlib
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import time

TOLERANCE = 0.01


def build_set(args):
    """A record set of at least args.gib GiB of training images."""
    records = args.work / 'records'
    if records.exists():
        return records
    once = args.work / 'once'
    subprocess.run([args.densenet, 'records', 'build', '--data', args.data,
                    '--out', once, '--on-bad-data', 'skip'], check=True)
    records.mkdir()
    shutil.copy(once / 'labels.txt', records)
    for shard in once.glob('validation-*'):
        shutil.copy(shard, records)
    shards = sorted(once.glob('train-*'))
    copied = 0
    while copied < args.gib * 2**30:
        shard = shards[copied // shards[0].stat().st_size % len(shards)]
        shutil.copy(shard, records / f'train-{copied:013}.tfrecord')
        copied += shard.stat().st_size
    return records


def start_training(args, records):
    def limit():
        most = args.limit_mib * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    command = [
        args.densenet, 'train', '--depth', '10', '--growth', '4',
        '--bottleneck', '--dataset', 'records', '--data', records,
        '--augment', 'imagenet', '--image-size', '64', '--batch', '32',
        '--epochs', '100000', '--steps-per-epoch', '200', '--workers', '1',
        '--threads', '1', '--on-bad-data', 'stop', '--out', args.work / 'run'
    ]
    return subprocess.Popen([str(part) for part in command], preexec_fn=limit,
                            stdout=subprocess.DEVNULL)


def resident_bytes(process):
    status = pathlib.Path(f'/proc/{process.pid}/status').read_text()
    for line in status.splitlines():
        if line.startswith('VmRSS:'):
            return int(line.split()[1]) * 1024
    raise RuntimeError('the process has ended')


def sample(process, seconds):
    """Resident bytes at every second."""
    start = time.monotonic()
    samples = []
    while len(samples) < seconds:
        time.sleep(max(0, start + len(samples) + 1 - time.monotonic()))
        if process.poll() is not None:
            sys.exit(f'training ended with {process.returncode} after '
                     f'{len(samples)} seconds')
        samples.append(resident_bytes(process))
    return samples


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--densenet', required=True)
    parser.add_argument('--data', required=True)
    parser.add_argument('--work', type=pathlib.Path, required=True)
    parser.add_argument('--gib', type=float, default=4)
    parser.add_argument('--limit-mib', type=int, default=1024)
    parser.add_argument('--seconds', type=int, default=600)
    args = parser.parse_args()
    if args.seconds < 240:
        parser.error('--seconds: the third minute and the last are compared')

    args.work.mkdir(parents=True, exist_ok=True)
    records = build_set(args)
    size = sum(shard.stat().st_size for shard in records.glob('train-*'))
    process = start_training(args, records)
    try:
        samples = sample(process, args.seconds)
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait()
    with open(args.work / 'resident.csv', 'w', newline='') as out:
        rows = csv.writer(out)
        rows.writerow(['second', 'resident_bytes'])
        rows.writerows(enumerate(samples, start=1))
    third = statistics.fmean(samples[120:180])
    last = statistics.fmean(samples[-60:])
    print(f'{size / 2**30:.2f} GiB of records, limit {args.limit_mib} MiB: '
          f'resident {third / 2**20:.2f} MiB in the third minute, '
          f'{last / 2**20:.2f} MiB in the last ({last / third - 1:+.2%}), '
          f'at most {max(samples) / 2**20:.2f}; exit code {code}')
    if abs(last / third - 1) > TOLERANCE:
        sys.exit('resident memory is not flat')


if __name__ == '__main__':
    main()
