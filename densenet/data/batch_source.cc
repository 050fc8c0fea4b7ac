#include "densenet/data/batch_source.h"

#include <fmt/format.h>
#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "core/random.h"
#include "densenet/data/random_streams.h"
#include "densenet/data/shuffle.h"

namespace densenet {
namespace {

// Bad examples in a row that one is drawn in place of: with one image in ten
// good, fewer than one in 10^9 finds none.
constexpr int64_t kMaxSubstitutes = 200;

constexpr int64_t Aligned(int64_t bytes) {
  return (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
}

Status CheckOptions(const ExampleStore& store,
                    const BatchSource::Options& options) {
  if (options.batch_size < 1) {
    return InvalidArgument(
        fmt::format("batch size {}: expected at least 1", options.batch_size));
  }
  if (options.augment && options.augment->pad < 0) {
    return InvalidArgument(fmt::format(
        "augmentation pads by {}: expected 0 or more", options.augment->pad));
  }
  if (options.photo) RETURN_IF_ERROR(ValidatePhotoAugment(*options.photo));
  if (options.height < 0 || options.width < 0 ||
      !(options.center_margin >= 1)) {
    return InvalidArgument(
        fmt::format("batches of {} x {} images, cut out of {} times that: "
                    "expected sizes of 0 or more and 1 or more",
                    options.height, options.width, options.center_margin));
  }
  const ImageDatasetInfo& info = store.Info();
  if ((info.height == 0 && options.height == 0) ||
      (info.width == 0 && options.width == 0)) {
    return InvalidArgument(fmt::format(
        "{}: its images have sizes of their own: one for all must be given",
        info.name));
  }
  return OkStatus();
}

}  // namespace

StatusOr<BatchSource> BatchSource::Create(
    const ExampleStore* store, const Normalization& normalization,
    const Options& options, std::optional<std::vector<int64_t>> examples) {
  RETURN_IF_ERROR(CheckOptions(*store, options));
  ASSIGN_OR_RETURN(PixelTable table, PixelTable::Create(normalization));
  const ImageDatasetInfo& info = store->Info();
  if (table.channels() != info.channels) {
    return InvalidArgument(
        fmt::format("normalization of {} channels for {}, which has {}",
                    table.channels(), info.name, info.channels));
  }
  BatchSource source(store, std::move(table), normalization, options);
  source.info_ = info;
  if (options.height > 0) source.info_.height = options.height;
  if (options.width > 0) source.info_.width = options.width;
  source.count_ = store->count();
  if (examples) {
    for (int64_t i : *examples) {
      if (i < 0 || i >= store->count()) {
        return InvalidArgument(fmt::format("example {} of {}, which has {}", i,
                                           info.name, store->count()));
      }
    }
    source.count_ = static_cast<int64_t>(examples->size());
    source.subset_ = std::move(examples);
  }
  return source;
}

void BatchSource::set_batch_size(int64_t batch_size) {
  CHECK_GE(batch_size, 1);
  options_.batch_size = batch_size;
}

int64_t BatchSource::batches() const {
  return options_.last_batch == LastBatch::kDrop
             ? count_ / options_.batch_size
             : (count_ + options_.batch_size - 1) / options_.batch_size;
}

int64_t BatchSource::BatchExamples(int64_t batch) const {
  CHECK(0 <= batch && batch < batches())
      << "batch " << batch << " of " << batches();
  if (options_.last_batch == LastBatch::kPad) return options_.batch_size;
  return std::min(options_.batch_size, count_ - batch * options_.batch_size);
}

int64_t BatchSource::ExampleAt(int64_t epoch, int64_t position) const {
  CHECK(0 <= position && position < count_);
  const int64_t i = options_.shuffle
                        ? EpochOrder(count_, options_.seed, epoch)[position]
                        : position;
  return subset_ ? (*subset_)[i] : i;
}

int64_t BatchSource::Substitute(int64_t epoch, int64_t position,
                                int64_t attempt) const {
  const RandomKey key = {.seed = options_.seed,
                         .step = static_cast<uint32_t>(epoch),
                         .stream = kSubstituteStream};
  const uint32_t bits = RandomBits(
      key, static_cast<uint64_t>(position * kMaxSubstitutes + attempt));
  const int64_t i = UniformInt(bits, static_cast<uint32_t>(count_));
  return subset_ ? (*subset_)[i] : i;
}

bool BatchSource::same_size() const {
  const ImageDatasetInfo& stored = store_->Info();
  return !options_.photo && stored.height == info_.height &&
         stored.width == info_.width && options_.center_margin == 1.0;
}

int64_t BatchSource::workspace_bytes() const {
  int64_t bytes = Aligned(store_->max_encoded_bytes());
  if (!same_size() || decodes()) bytes += Aligned(info_.image_elems());
  if (options_.photo) {
    bytes +=
        PhotoColorScratchFloats(info_.height, info_.width, info_.channels) *
        int64_t{sizeof(float)};
  }
  return bytes;
}

BatchSource::Scratch BatchSource::Carve(Workspace& workspace) const {
  CHECK_GE(static_cast<int64_t>(workspace.bytes_.size()), workspace_bytes());
  Scratch scratch{};
  if (workspace_bytes() == 0) return scratch;
  const int64_t encoded = store_->max_encoded_bytes();
  char* at = workspace.bytes_.data();
  scratch.encoded = absl::MakeSpan(at, static_cast<size_t>(encoded));
  at += Aligned(encoded);
  scratch.pixels = reinterpret_cast<uint8_t*>(at);
  at += Aligned(info_.image_elems());
  scratch.colors = reinterpret_cast<float*>(at);
  return scratch;
}

Status BatchSource::Fill(int64_t epoch, int64_t batch, TensorView images,
                         TensorView labels) const {
  const int64_t n = BatchExamples(batch);
  CHECK(images.device().is_cpu() && labels.device().is_cpu());
  CHECK(images.IsPacked() && labels.IsPacked());
  CHECK(images.shape() ==
        Shape({n, info().height, info().width, info().channels}))
      << images.ToString();
  CHECK(labels.shape() == Shape({n})) << labels.ToString();
  struct alignas(kAlignmentBytes) Block {
    char bytes[kAlignmentBytes];
  };
  std::vector<Block> blocks(
      static_cast<size_t>(Aligned(workspace_bytes()) / kAlignmentBytes));
  Workspace workspace(
      absl::MakeSpan(reinterpret_cast<char*>(blocks.data()),
                     blocks.size() * static_cast<size_t>(kAlignmentBytes)));
  return FillPart(epoch, batch, 0, n, workspace, images.data<float>(),
                  labels.data<int32_t>(), nullptr);
}

Status BatchSource::FillPart(int64_t epoch, int64_t batch, int64_t begin,
                             int64_t end, Workspace& workspace, float* images,
                             int32_t* labels,
                             std::vector<BadExample>* bad) const {
  CHECK(0 <= begin && begin <= end && end <= BatchExamples(batch));
  const int64_t elems = info_.image_elems();
  for (int64_t i = begin; i < end; ++i) {
    // Only the last batch may be padded.
    const int64_t position = (batch * options_.batch_size + i) % count_;
    float* image = images + i * elems;
    Status status = FillExample(epoch, ExampleAt(epoch, position), workspace,
                                image, labels + i);
    if (status.ok()) continue;
    if (options_.bad_data == BadData::kStop || !IsBadExample(status)) {
      return status;
    }
    if (bad != nullptr) bad->push_back({i, status});
    if (options_.bad_data == BadData::kLeaveOut) {
      labels[i] = kLeftOut;
      continue;
    }
    for (int64_t attempt = 0; !status.ok(); ++attempt) {
      if (!IsBadExample(status)) return status;
      if (attempt == kMaxSubstitutes) {
        return DataLoss(
            fmt::format("{} examples drawn at random are all bad; the last: {}",
                        attempt, StdView(status.message())));
      }
      status = FillExample(epoch, Substitute(epoch, position, attempt),
                           workspace, image, labels + i);
    }
  }
  return OkStatus();
}

Status BatchSource::FillExample(int64_t epoch, int64_t number,
                                Workspace& workspace, float* image,
                                int32_t* label) const {
  const Scratch scratch = Carve(workspace);
  ASSIGN_OR_RETURN(const Example example,
                   store_->Read(number, scratch.encoded));
  *label = example.label;
  ASSIGN_OR_RETURN(const uint8_t* pixels,
                   SizedPixels(epoch, number, example, workspace));
  const int64_t height = info_.height, width = info_.width;
  if (options_.photo) {
    ApplyPhotoColors(
        DrawPhotoColors(*options_.photo, options_.seed, epoch, number),
        normalization_, pixels, height, width, scratch.colors, image);
  } else if (options_.augment) {
    AugmentImage(
        table_, pixels, height, width, options_.augment->pad,
        DrawAugmentation(*options_.augment, options_.seed, epoch, number),
        image);
  } else {
    table_.Normalize(pixels, height * width, image);
  }
  return OkStatus();
}

StatusOr<const uint8_t*> BatchSource::SizedPixels(int64_t epoch, int64_t number,
                                                  const Example& example,
                                                  Workspace& workspace) const {
  if (example.pixels != nullptr && same_size()) return example.pixels;
  uint8_t* pixels = Carve(workspace).pixels;
  const auto choose = [&](int64_t height, int64_t width) {
    return options_.photo
               ? DrawPhotoCut(*options_.photo, options_.seed, epoch, number,
                              height, width, info_.height, info_.width)
               : CenterCut(height, width, info_.height, info_.width,
                           options_.center_margin);
  };
  if (example.pixels != nullptr) {
    const ImageDatasetInfo& stored = store_->Info();
    workspace.cutter_.Cut(example.pixels, stored.height, stored.width,
                          stored.channels, choose(stored.height, stored.width),
                          pixels);
  } else {
    RETURN_IF_ERROR(workspace.cutter_.Decode(
        example.encoded, store_->NameOf(number), choose, pixels));
  }
  return pixels;
}

}  // namespace densenet
