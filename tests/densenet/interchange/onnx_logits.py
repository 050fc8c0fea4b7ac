"""Runs an ONNX file with onnxruntime.

    onnx_logits.py MODEL IMAGES BATCH OUT

IMAGES and OUT hold float32 values: (n, C, H, W) pixels in [0, 1] and (n,
classes). Runs BATCH images at a time. Also checks the file by ONNX's own rules.
"""

import sys

import numpy as np
import onnx
import onnxruntime


def main(model, images, batch, out):
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(
        model, providers=["CPUExecutionProvider"])
    shape = session.get_inputs()[0].shape
    pixels = np.fromfile(images, np.float32).reshape(-1, *shape[1:])
    logits = [
        session.run(["logits"], {"images": pixels[i:i + int(batch)]})[0]
        for i in range(0, len(pixels), int(batch))
    ]
    np.concatenate(logits).astype(np.float32).tofile(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
