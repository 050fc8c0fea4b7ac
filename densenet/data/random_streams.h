// densenet/data/random_streams.h
//
// The streams of random numbers (core/random.h) that the data draws from.
// Layers count their streams from 0; these are far from them.

#ifndef DENSENET_DENSENET_DATA_RANDOM_STREAMS_H_
#define DENSENET_DENSENET_DATA_RANDOM_STREAMS_H_

#include <cstdint>

namespace densenet {

inline constexpr uint32_t kShuffleStream = 0xDA7A0000u;
inline constexpr uint32_t kHoldOutStream = 0xDA7A0001u;
inline constexpr uint32_t kAugmentStream = 0xDA7A0002u;
inline constexpr uint32_t kPhotoCutStream = 0xDA7A0003u;
inline constexpr uint32_t kPhotoColorStream = 0xDA7A0004u;
inline constexpr uint32_t kSubstituteStream = 0xDA7A0005u;
inline constexpr uint32_t kSampleStream = 0xDA7A0006u;

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_RANDOM_STREAMS_H_
