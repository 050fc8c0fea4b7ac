// The digests of downloads are the publishers' own. Of contents: SHA-1 of the
// CIFAR files as MXNet publishes them, MD5 of the unpacked IDX files as common
// readers of them do (and as Debian's copy has them), and SVHN's files are not
// packed.

#include "densenet/data/dataset_catalog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "densenet/data/data_files.h"

namespace densenet {
namespace {

constexpr int64_t kCifar10Bytes = int64_t{10'000} * (1 + 3072);
constexpr int64_t kCifar100RecordBytes = 2 + 3072;
constexpr int64_t kIdxImagesHead = 16;
constexpr int64_t kIdxLabelsHead = 8;
constexpr int64_t kMnistImageBytes = int64_t{28} * 28;

PublishedDataset Cifar10() {
  PublishedDataset d;
  d.name = "cifar10";
  d.title = "CIFAR-10 (binary version)";
  d.homepage = "https://www.cs.toronto.edu/~kriz/cifar.html";
  d.subfolders = {"cifar-10-batches-bin"};
  const auto train = [&](int i, const char* digest) {
    d.files.push_back({Split::kTrain,
                       {fmt::format("data_batch_{}.bin", i)},
                       kCifar10Bytes,
                       digest});
  };
  train(1, "sha1:aadd24acce27caa71bf4b10992e9e7b2d74c2540");
  train(2, "sha1:c0ba65cce70568cd57b4e03e9ac8d2a5367c1795");
  train(3, "sha1:1dd00a74ab1d17a6e7d73e185b69dbf31242f295");
  train(4, "sha1:aab85764eb3584312d3c7f65fd2fd016e36a258e");
  train(5, "sha1:26e2849e66a845b7f1e4614ae70f4889ae604628");
  d.files.push_back({Split::kTest,
                     {"test_batch.bin"},
                     kCifar10Bytes,
                     "sha1:67eb016db431130d61cd03c7ad570b013799c88c"});
  d.downloads = {{"cifar-10-binary.tar.gz", "https://www.cs.toronto.edu/~kriz/",
                  170'052'171, "md5:c32a1d4ab5d03f1284b67883e8d87530",
                  "cifar-10-batches-bin"}};
  d.train_images = 50'000;
  d.test_images = 10'000;
  d.train_of_class = 5'000;
  d.test_of_class = 1'000;
  return d;
}

PublishedDataset Cifar100() {
  PublishedDataset d;
  d.name = "cifar100";
  d.title = "CIFAR-100 (binary version), fine labels";
  d.homepage = "https://www.cs.toronto.edu/~kriz/cifar.html";
  d.subfolders = {"cifar-100-binary"};
  d.files = {{Split::kTrain,
              {"train.bin"},
              50'000 * kCifar100RecordBytes,
              "sha1:e207cd2e05b73b1393c74c7f5e7bea451d63e08e"},
             {Split::kTest,
              {"test.bin"},
              10'000 * kCifar100RecordBytes,
              "sha1:8fb6623e830365ff53cf14adec797474f5478006"}};
  d.downloads = {{"cifar-100-binary.tar.gz",
                  "https://www.cs.toronto.edu/~kriz/", 168'513'733,
                  "md5:03b5dce01913d631647c71ecec9e9cb8", "cifar-100-binary"}};
  d.train_images = 50'000;
  d.test_images = 10'000;
  d.train_of_class = 500;
  d.test_of_class = 100;
  return d;
}

PublishedDataset Svhn(bool extra) {
  PublishedDataset d;
  d.name = extra ? "svhn" : "svhn-no-extra";
  d.title = "Street View House Numbers, cropped digits";
  d.homepage = "http://ufldl.stanford.edu/housenumbers/";
  d.subfolders = {"svhn", "SVHN"};
  const auto add = [&](Split split, const char* name, int64_t bytes,
                       const char* digest) {
    d.files.push_back({split, {name}, bytes, digest});
    d.downloads.push_back({name, d.homepage, bytes, digest, ""});
  };
  add(Split::kTrain, "train_32x32.mat", 182'040'794,
      "md5:e26dedcc434d2e4c54c9b2d4a06d8373");
  d.train_images = 73'257;
  if (extra) {
    add(Split::kTrain, "extra_32x32.mat", 1'329'278'602,
        "md5:a93ce644f1a588dc4d68dda5feec44a7");
    d.train_images += 531'131;
  }
  add(Split::kTest, "test_32x32.mat", 64'275'384,
      "md5:eb5a983be6a315427106f1b164d9cef3");
  d.test_images = 26'032;
  d.note = extra ? "trains on train + extra as the paper does; svhn-no-extra "
                   "trains on train_32x32.mat alone"
                 : "svhn without its extra images";
  return d;
}

struct IdxDigests {
  const char* content;
  int64_t packed_bytes;
  const char* packed;
};

// Train images and labels, test images and labels.
void AddIdxFiles(PublishedDataset& d, const std::string& url,
                 const IdxDigests (&digests)[4]) {
  d.train_images = 60'000;
  d.test_images = 10'000;
  const IdxDigests* digest = digests;
  for (Split split : {Split::kTrain, Split::kTest}) {
    const char* prefix = split == Split::kTrain ? "train" : "t10k";
    for (const bool images : {true, false}) {
      const std::string dashed = fmt::format(
          "{}-{}-ubyte", prefix, images ? "images-idx3" : "labels-idx1");
      std::string dotted = dashed;
      dotted[dotted.find("-idx")] = '.';
      d.files.push_back(
          {split,
           {dashed, dashed + ".gz", dotted, dotted + ".gz"},
           images ? kIdxImagesHead + d.images(split) * kMnistImageBytes
                  : kIdxLabelsHead + d.images(split),
           digest->content});
      d.downloads.push_back(
          {dashed + ".gz", url, digest->packed_bytes, digest->packed, ""});
      ++digest;
    }
  }
}

PublishedDataset Mnist() {
  PublishedDataset d;
  d.name = "mnist";
  d.title = "MNIST database of handwritten digits";
  d.homepage = "http://yann.lecun.com/exdb/mnist/";
  d.subfolders = {"mnist", "MNIST/raw"};
  AddIdxFiles(d, "https://ossci-datasets.s3.amazonaws.com/mnist/",
              {{"md5:6bbc9ace898e44ae57da46a324031adb", 9'912'422,
                "md5:f68b3c2dcbeaaa9fbdd348bbdeb94873"},
               {"md5:a25bea736e30d166cdddb491f175f624", 28'881,
                "md5:d53e105ee54ea40749a09fcbcd1e9432"},
               {"md5:2646ac647ad5339dbf082846283269ea", 1'648'877,
                "md5:9fb629c4189551a2d022fa330f9573f3"},
               {"md5:27ae3e4e09519cfbb04c329615203637", 4'542,
                "md5:ec29112dd5afa0611ce80d1b7f02629c"}});
  return d;
}

PublishedDataset FashionMnist() {
  PublishedDataset d;
  d.name = "fashion-mnist";
  d.title = "Fashion-MNIST";
  d.homepage = "https://github.com/zalandoresearch/fashion-mnist";
  d.subfolders = {"fashion-mnist", "FashionMNIST/raw"};
  AddIdxFiles(d, "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
              {{"md5:f4a8712d7a061bf5bd6d2ca38dc4d50a", 26'421'880,
                "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d"},
               {"md5:9018921c3c673c538a1fc5bad174d6f9", 29'515,
                "md5:25c81989df183df01b3e8a0aad5dffbe"},
               {"md5:8181f5470baa50b63fa0f6fddb340f0a", 4'422'102,
                "md5:bef4ecab320f06d8554ea6380940ec79"},
               {"md5:15d484375f8d13e6eb1aabb0c3f46965", 5'148,
                "md5:bb300cfdad3c16e7a12a480ee83cd310"}});
  d.train_of_class = 6'000;
  d.test_of_class = 1'000;
  d.note =
      "the Debian package dataset-fashion-mnist installs it to "
      "/usr/share/datasets/fashion-mnist";
  return d;
}

// How a user gets it, for an error.
std::string Source(const PublishedDataset& dataset) {
  std::vector<std::string> names;
  for (const PublishedDownload& download : dataset.downloads) {
    names.push_back(download.name);
  }
  std::string text = fmt::format("{} has the files ({})", dataset.homepage,
                                 fmt::join(names, ", "));
  if (!dataset.note.empty()) text += "; " + dataset.note;
  return text;
}

}  // namespace

int64_t PublishedDataset::download_bytes() const {
  int64_t sum = 0;
  for (const PublishedDownload& download : downloads) sum += download.bytes;
  return sum;
}

int64_t PublishedDataset::unpacked_bytes() const {
  int64_t sum = 0;
  for (const PublishedFile& file : files) sum += file.bytes;
  return sum;
}

std::vector<PublishedDataset> PublishedDatasets() {
  return {Cifar10(), Cifar100(),    Svhn(/*extra=*/true), Svhn(/*extra=*/false),
          Mnist(),   FashionMnist()};
}

StatusOr<PublishedDataset> FindPublished(std::string_view name) {
  std::vector<std::string> names;
  for (PublishedDataset& dataset : PublishedDatasets()) {
    if (dataset.name == name) return std::move(dataset);
    names.push_back(dataset.name);
  }
  return InvalidArgument(
      fmt::format("no publisher's data set is called '{}': expected one of {}",
                  name, fmt::join(names, ", ")));
}

StatusOr<std::vector<std::string>> FindPublishedFiles(std::string_view name,
                                                      const std::string& folder,
                                                      Split split) {
  ASSIGN_OR_RETURN(const PublishedDataset dataset, FindPublished(name));
  DataFilesQuery query = {.dataset = dataset.name,
                          .folder = folder,
                          .subfolders = dataset.subfolders,
                          .files = {},
                          .source = Source(dataset)};
  for (const PublishedFile& file : dataset.files) {
    if (file.split == split) query.files.push_back(file.names);
  }
  return FindDataFiles(query);
}

}  // namespace densenet
