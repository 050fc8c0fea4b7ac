#include "densenet/data/record_source.h"

#include <gtest/gtest.h>

#include "core/io/image.h"
#include "memory/host_memory.h"
#include "tests/densenet/data/test_dataset.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

TEST(DatasetSourceTest, EncodesTheImages) {
  HostMemory memory;
  const Dataset dataset = testing::RandomDataset(4, 5, 7, 3, memory);
  const DatasetSource source(&dataset, Split::kTest);
  EXPECT_EQ(source.count(), 4);
  StatusOr<SourceImage> image = source.Read(2);
  ASSERT_OK(image);
  EXPECT_EQ(image->format, "png");
  EXPECT_EQ(image->label, 2);
  EXPECT_EQ(image->height, 5);
  EXPECT_EQ(image->width, 7);
  EXPECT_EQ(image->filename, "random-test-00002.png");
  StatusOr<Image> decoded = DecodeImage(image->encoded, "x");
  ASSERT_OK(decoded);
  EXPECT_TRUE(std::equal(decoded->pixels.begin(), decoded->pixels.end(),
                         dataset.image(2)));
}

}  // namespace
}  // namespace densenet
