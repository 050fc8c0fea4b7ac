#include "densenet/kernels/channel_statistics.h"
#include "densenet/stem.h"
#include "densenet/stem_conv.h"

namespace densenet {
namespace {

constexpr int64_t kFilterSide = 3;

class CifarStem : public StemModule {
 public:
  CifarStem(StepBuilder& builder, const BlockFeatures& features)
      : features_(features),
        conv_(builder, kFilterSide, {Stride{}, Padding::Same()},
              features.extent()) {}

  Status AddForward(StepBuilder& builder) override {
    RETURN_IF_ERROR(conv_.AddForward(builder, features_.Piece(0)));
    features_.AddGatherStatisticsTasks(builder, 0);
    return OkStatus();
  }

  Status AddBackward(StepBuilder& builder) override {
    features_.AddFinishGradientTask(builder, 0);
    return conv_.AddBackward(builder, features_.PieceGradient(0));
  }

 private:
  const BlockFeatures& features_;
  StemConv conv_;
};

}  // namespace

std::unique_ptr<StemModule> MakeCifarStem(StepBuilder& builder,
                                          const BlockFeatures& features) {
  return std::make_unique<CifarStem>(builder, features);
}

}  // namespace densenet
