// densenet/class_weights.h
//
// How often the examples of each class count in the training loss
// (Network::Options::class_weights): where classes are rare, or matter more.
//
// Errors   InvalidArgument  names file, line or class, and what is expected
//          others           what the system said

#ifndef DENSENET_DENSENET_CLASS_WEIGHTS_H_
#define DENSENET_DENSENET_CLASS_WEIGHTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "densenet/data/batch_source.h"

namespace densenet {

inline constexpr std::string_view kBalanced = "balanced";

// The value of --class-weights as a configuration keeps it: "balanced", or the
// weights of the classes in their order, "1,2.5,1". `text` is either of these
// or the name of a file with a weight a line, in the order of the classes, or
// a class's name and its weight; '#' begins a comment.
StatusOr<std::string> ParseClassWeights(
    const std::string& text, const std::vector<std::string>& class_names);

// The weights that ParseClassWeights returned a text for. "balanced" counts
// the labels of the source's examples, n_c of N in K classes that occur:
// N / (K n_c), whose mean over the examples is 1; 0 for a class that does not
// occur.
StatusOr<std::vector<float>> MakeClassWeights(const std::string& text,
                                              const BatchSource& train);

}  // namespace densenet

#endif  // DENSENET_DENSENET_CLASS_WEIGHTS_H_
