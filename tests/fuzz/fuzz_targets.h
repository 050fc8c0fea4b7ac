// tests/fuzz/fuzz_targets.h
//
// The readers of foreign files, each as a function that takes any bytes: it
// returns, or a bug ends the process. libFuzzer calls them (fuzzer.cc), and
// corpus_test.cc calls them on the files of corpus/.
//
// Threads  one at a time

#ifndef DENSENET_TESTS_FUZZ_FUZZ_TARGETS_H_
#define DENSENET_TESTS_FUZZ_FUZZ_TARGETS_H_

#include <string>
#include <string_view>

namespace densenet::testing {

// A TFRecord file, plain or gzip, and every record as a tf.train.Example.
void FuzzRecords(std::string_view bytes);
// The images and labels of an IDX data set: 2 bytes, little endian, say how
// many of the others are the images'.
void FuzzIdx(std::string_view bytes);
// A file of CIFAR-10 or, when the first byte is odd, CIFAR-100.
void FuzzCifar(std::string_view bytes);
// The MATLAB file of SVHN's test images.
void FuzzSvhn(std::string_view bytes);
// A JPEG or PNG file.
void FuzzImage(std::string_view bytes);
// A file of torch.save, zip or older; and any bytes as its pickle.
void FuzzPytorch(std::string_view bytes);

// Writes a file into a folder in memory, where there is one, and returns the
// folder; its files stay until the process ends.
const std::string& WriteScratch(const std::string& name,
                                std::string_view bytes);

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_FUZZ_FUZZ_TARGETS_H_
