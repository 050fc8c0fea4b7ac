// The files that fuzzing starts from, and that once found a bug, as ordinary
// tests; each also cut and with flipped bits.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/random.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/support/temp_dir.h"

namespace densenet::testing {
namespace {

namespace fs = std::filesystem;

struct Target {
  std::string name;
  void (*run)(std::string_view bytes);
};

class CorpusTest : public ::testing::TestWithParam<Target> {};

INSTANTIATE_TEST_SUITE_P(Fuzz, CorpusTest,
                         ::testing::Values(Target{"records", FuzzRecords},
                                           Target{"idx", FuzzIdx},
                                           Target{"cifar", FuzzCifar},
                                           Target{"svhn", FuzzSvhn},
                                           Target{"image", FuzzImage},
                                           Target{"pytorch", FuzzPytorch}),
                         [](const auto& param) { return param.param.name; });

constexpr int kMutants = 40;  // of each file

TEST_P(CorpusTest, NothingBreaks) {
  const fs::path folder =
      fs::path(DENSENET_SOURCE_DIR) / "tests/fuzz/corpus" / GetParam().name;
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder)) {
    paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  ASSERT_FALSE(paths.empty());
  GetParam().run("");
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const std::string bytes = Slurp(path);
    GetParam().run(bytes);
    for (uint32_t mutant = 0; mutant < kMutants && !bytes.empty(); ++mutant) {
      const Philox4 random = RandomBlock({.seed = 1, .step = mutant}, 0);
      const auto size = static_cast<uint32_t>(bytes.size());
      std::string changed = bytes;
      if (mutant % 4 == 0) changed.resize(UniformInt(random.v[0], size));
      if (!changed.empty()) {
        char& byte = changed[random.v[1] % changed.size()];
        byte = static_cast<char>(byte ^ (1 << random.v[2] % 8));
      }
      GetParam().run(changed);
    }
  }
}

}  // namespace
}  // namespace densenet::testing
