// densenet/data/batch_source.h
//
// The batches of a data set as a pure function of (epoch, batch): shuffled and
// augmented for training, in order and as they are for evaluation. Whoever
// fills a batch, and in how many parts, its bits are the same; a run enters an
// epoch anywhere without reading what comes before.
//
// Shapes    images (n, H, W, C), labels (n); n is batch_size but for the last
//           batch of an epoch: see LastBatch
// Types     images float32, labels int32
// Memory    8 bytes an example where a subset is given; filling works in a
//           Workspace of workspace_bytes(), with a few rows and what the image
//           libraries need besides (core/io/image_codecs.h)
// Errors    InvalidArgument  a batch size < 1, an example outside the data
//                            set, a normalization of other channels, options
//                            of augmentation out of range
//           those of ExampleStore::Read and of image files: see BadData
// Threads   safe, with a Workspace each

#ifndef DENSENET_DENSENET_DATA_BATCH_SOURCE_H_
#define DENSENET_DENSENET_DATA_BATCH_SOURCE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "core/io/image_cut.h"
#include "core/status.h"
#include "core/tensor.h"
#include "densenet/data/augment.h"
#include "densenet/data/dataset.h"
#include "densenet/data/example_store.h"
#include "densenet/data/normalization.h"
#include "densenet/data/photo_augment.h"

namespace densenet {

// What becomes of the examples that do not fill a batch.
enum class LastBatch {
  kKeep,  // a smaller batch
  kDrop,  // none: other ones each epoch where the order changes
  kPad,   // filled up with the first examples of the epoch
};

// What becomes of an example that cannot be read.
enum class BadData {
  kStop,        // filling fails
  kSubstitute,  // another one, drawn by seed, epoch and position, stands in
  kLeaveOut,    // it has the label kLeftOut, and undefined pixels
};

inline constexpr int32_t kLeftOut = -1;

struct BadExample {
  int64_t position = 0;  // in its batch
  Status reason;
};

class BatchSource {
 public:
  struct Options {
    int64_t batch_size = 1;
    uint64_t seed = 0;
    // A new order every epoch.
    bool shuffle = false;
    std::optional<AugmentOptions> augment = std::nullopt;
    // Random parts of the images and colours. Without, an image of another
    // size is brought to that of the batch by CenterCut.
    std::optional<PhotoAugmentOptions> photo = std::nullopt;
    double center_margin = 1.0;
    // Of the images in batches; 0: that of the data set.
    int64_t height = 0;
    int64_t width = 0;
    LastBatch last_batch = LastBatch::kKeep;
    BadData bad_data = BadData::kStop;
  };

  // What one thread needs to fill with.
  class Workspace {
   public:
    // `bytes` of workspace_bytes(), aligned to kAlignmentBytes.
    explicit Workspace(absl::Span<char> bytes) : bytes_(bytes) {}

   private:
    friend class BatchSource;
    absl::Span<char> bytes_;
    ImageCutter cutter_;
  };

  // `store` must outlive the source. `examples` are the ones to use, in their
  // order without shuffling; nothing means all.
  static StatusOr<BatchSource> Create(
      const ExampleStore* store, const Normalization& normalization,
      const Options& options,
      std::optional<std::vector<int64_t>> examples = std::nullopt);

  // From the next call on. CHECKs batch_size >= 1; no loader may be at work.
  void set_batch_size(int64_t batch_size);

  // That of the store, with the size of the images in batches.
  const ImageDatasetInfo& info() const { return info_; }
  const ExampleStore& store() const { return *store_; }
  const Normalization& normalization() const { return normalization_; }
  // Examples, and batches, in an epoch.
  int64_t examples() const { return count_; }
  int64_t batches() const;
  // Examples in a batch; the largest is that of batch 0.
  int64_t BatchExamples(int64_t batch) const;
  // The example of the data set at `position` of an epoch.
  int64_t ExampleAt(int64_t epoch, int64_t position) const;
  int64_t workspace_bytes() const;
  // Images are decoded: a thread should fill one at a time.
  bool decodes() const { return store_->max_encoded_bytes() > 0; }

  // CHECKs 0 <= batch < batches(), 0 <= epoch < 2^32 and the views, which are
  // packed, on the host and of the batch's shape.
  Status Fill(int64_t epoch, int64_t batch, TensorView images,
              TensorView labels) const;
  // The part [begin, end) of a batch, into the batch's memory. Appends to
  // `bad` (may be null) what was substituted or left out.
  Status FillPart(int64_t epoch, int64_t batch, int64_t begin, int64_t end,
                  Workspace& workspace, float* images, int32_t* labels,
                  std::vector<BadExample>* bad) const;

 private:
  BatchSource(const ExampleStore* store, PixelTable table,
              const Normalization& normalization, const Options& options)
      : store_(store),
        table_(std::move(table)),
        normalization_(normalization),
        options_(options) {}

  // The parts of a workspace.
  struct Scratch {
    absl::Span<char> encoded;
    uint8_t* pixels;  // (H, W, C)
    float* colors;
  };
  Scratch Carve(Workspace& workspace) const;
  // Whether an image goes straight from the store to the batch.
  bool same_size() const;
  int64_t Substitute(int64_t epoch, int64_t position, int64_t attempt) const;
  Status FillExample(int64_t epoch, int64_t example, Workspace& workspace,
                     float* image, int32_t* label) const;
  StatusOr<const uint8_t*> SizedPixels(int64_t epoch, int64_t number,
                                       const Example& example,
                                       Workspace& workspace) const;

  const ExampleStore* store_;
  ImageDatasetInfo info_;
  PixelTable table_;
  Normalization normalization_;
  Options options_;
  std::optional<std::vector<int64_t>> subset_;
  int64_t count_ = 0;
};

}  // namespace densenet

#endif  // DENSENET_DENSENET_DATA_BATCH_SOURCE_H_
