"""Reads a TFRecord file with TensorFlow and writes it again.

    tensorflow_copy.py FROM TO COMPRESSION

COMPRESSION is "" or "GZIP". Prints, for every record, the label, the class
name, the file name and the shape of the decoded image.
"""

import sys

import tensorflow as tf

FEATURES = {
    "image/encoded": tf.io.FixedLenFeature([], tf.string),
    "image/format": tf.io.FixedLenFeature([], tf.string),
    "image/class/label": tf.io.FixedLenFeature([], tf.int64),
    "image/class/text": tf.io.FixedLenFeature([], tf.string),
    "image/height": tf.io.FixedLenFeature([], tf.int64),
    "image/width": tf.io.FixedLenFeature([], tf.int64),
    "image/filename": tf.io.FixedLenFeature([], tf.string),
}


def main(source, target, compression):
    with tf.io.TFRecordWriter(target, options=compression) as writer:
        for record in tf.data.TFRecordDataset(source, compression):
            example = tf.io.parse_single_example(record, FEATURES)
            image = tf.io.decode_image(example["image/encoded"])
            assert image.shape[0] == example["image/height"], image.shape
            assert image.shape[1] == example["image/width"], image.shape
            print(
                int(example["image/class/label"]),
                example["image/class/text"].numpy().decode(),
                example["image/filename"].numpy().decode(),
                *image.shape,
            )
            writer.write(record.numpy())


if __name__ == "__main__":
    main(*sys.argv[1:])
