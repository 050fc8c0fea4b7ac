#!/usr/bin/env python3
"""Writes seed_statistics.json: what SciPy says of paired results.

    python3 seed_statistics.py > seed_statistics.json
"""

import json

import scipy
from scipy import stats

CASES = [
    ([19.53, 19.21, 19.88], [8.91, 9.02, 8.80]),
    ([7.1, 6.9, 7.4, 7.0, 7.3], [7.0, 7.0, 7.2, 6.9, 7.3]),
    ([5.0, 5.2], [4.9, 4.8]),
    ([24.1, 23.8, 24.4, 24.0, 24.3, 23.9, 24.2, 24.6],
     [24.4, 23.9, 24.9, 24.1, 24.2, 24.5, 24.4, 24.8]),
]

rows = []
for a, b in CASES:
    test = stats.ttest_rel(a, b)
    interval = test.confidence_interval(confidence_level=0.95)
    rows.append({
        "a": a, "b": b,
        "mean": float(stats.tmean(a)), "deviation": float(stats.tstd(a)),
        "t": float(test.statistic), "p": float(test.pvalue),
        "degrees_of_freedom": int(test.df),
        "low": float(interval.low), "high": float(interval.high),
    })
print(json.dumps({"scipy": scipy.__version__, "rows": rows}, indent=1))
