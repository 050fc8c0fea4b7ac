#include "core/tensor.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "memory/host_memory.h"
#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;

// A (2, 3, 4, 6) float buffer that counts up.
class TensorViewTest : public ::testing::Test {
 protected:
  TensorViewTest() : data_(2 * 3 * 4 * 6) {
    std::iota(data_.begin(), data_.end(), 0.0f);
    buffer_ = TensorView(data_.data(), DType::kFloat32, {2, 3, 4, 6});
  }

  std::vector<float> data_;
  TensorView buffer_;
};

TEST_F(TensorViewTest, PackedIsRowStrided) {
  EXPECT_TRUE(buffer_.IsPacked());
  EXPECT_TRUE(buffer_.IsRowStrided());
  EXPECT_EQ(buffer_.rows(), 24);
  EXPECT_EQ(buffer_.row_stride(), 6);
  EXPECT_EQ(buffer_.bytes(), 24 * 6 * 4);
  EXPECT_EQ(buffer_.ToString(), "float32 (2, 3, 4, 6)");
}

TEST_F(TensorViewTest, ChannelSliceIsRowStrided) {
  const TensorView columns = buffer_.Slice(-1, 2, 5);  // (2, 3, 4, 3)
  EXPECT_EQ(columns.shape(), Shape({2, 3, 4, 3}));
  EXPECT_FALSE(columns.IsPacked());
  EXPECT_TRUE(columns.IsRowStrided());
  EXPECT_EQ(columns.row_stride(), 6);
  EXPECT_EQ(columns.rows(), 24);
  EXPECT_EQ(columns.data<float>()[0], 2);
  EXPECT_EQ(columns.data<float>()[columns.row_stride()], 8);
}

TEST_F(TensorViewTest, SliceOfASliceIsOneSlice) {
  const TensorView twice = buffer_.Slice(3, 1, 6).Slice(3, 2, 4);
  const TensorView once = buffer_.Slice(3, 3, 5);
  EXPECT_EQ(twice.raw(), once.raw());
  EXPECT_EQ(twice.shape(), once.shape());
  EXPECT_EQ(twice.strides(), once.strides());
}

TEST_F(TensorViewTest, InnerImageSliceIsNotRowStrided) {
  // Every second image is missing between the rows of 3 columns.
  const TensorView columns = buffer_.Slice(2, 0, 3);  // (2, 3, 3, 6)
  EXPECT_FALSE(columns.IsRowStrided());
  // One image row alone is.
  EXPECT_TRUE(columns.Slice(0, 1, 2).Slice(1, 2, 3).IsRowStrided());
}

TEST_F(TensorViewTest, ImageSliceStaysPacked) {
  const TensorView image = buffer_.Slice(0, 1, 2);  // (1, 3, 4, 6)
  EXPECT_TRUE(image.IsPacked());
  EXPECT_EQ(image.data<float>()[0], 72);
}

TEST_F(TensorViewTest, OneColumnHasTheBuffersRowStride) {
  const TensorView column = buffer_.Slice(3, 5, 6);  // (2, 3, 4, 1)
  EXPECT_TRUE(column.IsRowStrided());
  EXPECT_EQ(column.row_stride(), 6);
  EXPECT_FALSE(column.IsPacked());
}

TEST_F(TensorViewTest, OneRowIsPackedWhateverItsStrides) {
  const TensorView row(data_.data(), DType::kFloat32, {1, 1, 1, 6},
                       {999, 998, 997, 1});
  EXPECT_TRUE(row.IsPacked());
  EXPECT_TRUE(row.IsRowStrided());
  EXPECT_EQ(row.row_stride(), 6);
}

TEST_F(TensorViewTest, RowsThatOverlapAreNotRowStrided) {
  const TensorView broadcast(data_.data(), DType::kFloat32, {5, 6}, {0, 1});
  EXPECT_FALSE(broadcast.IsRowStrided());
  const TensorView sliding(data_.data(), DType::kFloat32, {5, 6}, {3, 1});
  EXPECT_FALSE(sliding.IsRowStrided());
  const TensorView transposed(data_.data(), DType::kFloat32, {4, 6}, {1, 4});
  EXPECT_FALSE(transposed.IsRowStrided());
  EXPECT_FALSE(transposed.IsPacked());
}

TEST_F(TensorViewTest, EmptyExtents) {
  const TensorView none = buffer_.Slice(-1, 3, 3);  // (2, 3, 4, 0)
  EXPECT_EQ(none.elems(), 0);
  EXPECT_EQ(none.rows(), 24);
  EXPECT_TRUE(none.IsRowStrided());
  EXPECT_EQ(buffer_.Slice(0, 0, 0).rows(), 0);
}

TEST_F(TensorViewTest, RankZeroAndOne) {
  const TensorView scalar(data_.data(), DType::kFloat32, Shape());
  EXPECT_EQ(scalar.rows(), 1);
  EXPECT_EQ(scalar.row_stride(), 1);
  EXPECT_TRUE(scalar.IsPacked());
  EXPECT_TRUE(scalar.IsRowStrided());
  const TensorView vector(data_.data(), DType::kFloat32, {7});
  EXPECT_EQ(vector.rows(), 1);
  EXPECT_EQ(vector.row_stride(), 7);
}

TEST_F(TensorViewTest, ViewOfNullDescribesWithoutBytes) {
  const ConstTensorView described(nullptr, DType::kFloat32, {8, 10});
  const ConstTensorView columns = described.Slice(1, 4, 7);  // (8, 3)
  EXPECT_EQ(columns.raw(), nullptr);
  EXPECT_EQ(columns.row_stride(), 10);
}

TEST_F(TensorViewTest, OffsetsBeyond32Bits) {
  // Never read: pure arithmetic on a made-up address.
  char* base = reinterpret_cast<char*>(uintptr_t{1} << 40);
  const TensorView wide(base, DType::kFloat32, {70000, 70000});
  EXPECT_EQ(wide.elems(), int64_t{4900000000});
  const TensorView last = wide.Slice(0, 69999, 70000);  // (1, 70000)
  EXPECT_EQ(static_cast<char*>(last.raw()) - base, int64_t{69999} * 70000 * 4);
}

TEST_F(TensorViewTest, ReshapeKeepsTheElements) {
  const ConstTensorView flat = ConstTensorView(buffer_).Reshaped({24, 6});
  EXPECT_EQ(flat.raw(), buffer_.raw());
  EXPECT_EQ(flat.strides(), Shape({6, 1}));
}

TEST_F(TensorViewTest, MisuseIsOurBug) {
  EXPECT_DEATH(buffer_.Slice(3, 4, 7), "slice \\[4, 7\\) of axis 3");
  EXPECT_DEATH(buffer_.Slice(3, 4, 3), "slice");
  EXPECT_DEATH(buffer_.data<double>(), "holds float32, read as float64");
  EXPECT_DEATH(buffer_.Slice(3, 0, 2).Reshaped({48}), "strided");
  EXPECT_DEATH(buffer_.Reshaped({7}), "");
}

TEST(TensorTest, OwnsItsBytes) {
  HostMemory memory;
  {
    StatusOr<Tensor> made =
        Tensor::Zeros(memory, DType::kFloat32, {3, 5});  // (3, 5)
    ASSERT_OK(made);
    EXPECT_EQ(memory.stats().active_bytes, 60);
    EXPECT_EQ(
        reinterpret_cast<uintptr_t>(made->data<float>()) % kAlignmentBytes, 0u);
    for (int64_t i = 0; i < 15; ++i) EXPECT_EQ(made->data<float>()[i], 0);

    Tensor moved = std::move(*made);
    EXPECT_TRUE(made->empty());  // NOLINT: what a move leaves is promised
    EXPECT_FALSE(moved.empty());
    EXPECT_EQ(memory.stats().active_bytes, 60);
    StatusOr<Tensor> other = Tensor::Empty(memory, DType::kUInt8, {7});
    ASSERT_OK(other);
    moved = std::move(*other);
    EXPECT_EQ(memory.stats().active_bytes, 7);
  }
  EXPECT_EQ(memory.stats().active_bytes, 0);
}

TEST(TensorTest, EmptyShapeTakesNothing) {
  HostMemory memory;
  StatusOr<Tensor> made = Tensor::Zeros(memory, DType::kFloat64, {4, 0});
  ASSERT_OK(made);
  EXPECT_EQ(memory.stats().active_bytes, 0);
  EXPECT_EQ(made->elems(), 0);
}

TEST(TensorTest, ShapesThatCannotBe) {
  HostMemory memory;
  EXPECT_THAT(
      Tensor::Empty(memory, DType::kFloat32, {2, -1}),
      Fails(StatusCode::kInvalidArgument, {"(2, -1)", "negative extent"}));
  EXPECT_THAT(Tensor::Empty(memory, DType::kFloat32,
                            {std::numeric_limits<int64_t>::max() / 2, 1}),
              Fails(StatusCode::kInvalidArgument, {"int64"}));
}

TEST(TensorTest, OutOfMemoryPasses) {
  HostMemory memory(100);
  EXPECT_THAT(
      Tensor::Empty(memory, DType::kFloat32, {26}),
      Fails(StatusCode::kResourceExhausted, {"requested 104", "limit 100"}));
  EXPECT_OK(Tensor::Empty(memory, DType::kFloat32, {25}));
}

}  // namespace
}  // namespace densenet
