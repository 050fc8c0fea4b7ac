#include "core/cuda/image_window.h"

#include <gtest/gtest.h>

namespace densenet {
namespace {

TEST(ImageWindowTest, FindsPixelsAndBorder) {
  const ImageWindow window{.n = 2,
                           .h = 3,
                           .w = 4,
                           .c = 5,
                           .row_stride = 9,
                           .top = 1,
                           .bottom = 0,
                           .left = 2,
                           .right = 1};
  EXPECT_EQ(window.packed_h(), 4);
  EXPECT_EQ(window.packed_w(), 7);
  EXPECT_EQ(window.packed_elems(), 2 * 4 * 7 * 5);
  int64_t i = 0;
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t y = -1; y < 3; ++y) {
      for (int64_t x = -2; x < 5; ++x) {
        for (int64_t c = 0; c < 5; ++c, ++i) {
          const bool inside = y >= 0 && y < 3 && x >= 0 && x < 4;
          ASSERT_EQ(window.Source(i),
                    inside ? ((n * 3 + y) * 4 + x) * 9 + c : -1)
              << i;
        }
      }
    }
  }
}

TEST(ImageWindowTest, OffsetsBeyond32Bits) {
  const ImageWindow window{
      .n = int64_t{1} << 22, .h = 32, .w = 32, .c = 3, .row_stride = 1 << 10};
  const int64_t last = window.packed_elems() - 1;
  EXPECT_GT(last, int64_t{1} << 33);
  EXPECT_EQ(window.Source(last), ((int64_t{1} << 32) - 1) * 1024 + 2);
}

}  // namespace
}  // namespace densenet
