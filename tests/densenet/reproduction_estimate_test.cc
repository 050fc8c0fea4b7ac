#include "densenet/reproduction_estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace densenet {
namespace {

using ::densenet::testing::Fails;

EstimateOptions Options(const std::string& preset,
                        const std::vector<std::string>& datasets) {
  EstimateOptions options;
  for (const std::string& dataset : datasets) {
    StatusOr<PaperRow> row = FindPaperRow(preset, dataset);
    EXPECT_OK(row);
    options.rows.push_back(*row);
  }
  options.threads = 1;
  options.steps = 1;
  return options;
}

TEST(ReproductionEstimateTest, HoursFollowFromMeasuredStepsAndTheRecipe) {
  const EstimateOptions options =
      Options("densenet-40-12", {"cifar10", "cifar100", "svhn"});
  StatusOr<std::vector<EstimatedRow>> rows =
      EstimateReproductions(options, nullptr);
  ASSERT_OK(rows);
  ASSERT_EQ(rows->size(), 3u);
  const EstimatedRow& cifar = (*rows)[0];
  EXPECT_EQ(cifar.epochs, 300);
  EXPECT_EQ(cifar.train_images, 50'000);
  EXPECT_GT(cifar.planned_bytes, 0);
  ASSERT_TRUE(cifar.image_seconds.has_value());
  EXPECT_DOUBLE_EQ(*cifar.hours,
                   300 * (50'000 + 10'000.0 / 3) * *cifar.image_seconds / 3600);
  // One measurement serves the networks that differ in their classes.
  EXPECT_EQ((*rows)[1].image_seconds, cifar.image_seconds);
  const EstimatedRow& svhn = (*rows)[2];
  EXPECT_EQ(svhn.epochs, 40);
  EXPECT_EQ(svhn.train_images, 73'257 + 531'131 - 6000);
  EXPECT_DOUBLE_EQ(*svhn.hours,
                   (40 * (svhn.train_images + 6000.0 / 3) + 26'032.0 / 3) *
                       *svhn.image_seconds / 3600);
}

TEST(ReproductionEstimateTest, WhatHasNoRoomIsNotMeasured) {
  EstimateOptions options = Options("densenet-bc-190-40", {"cifar10+"});
  options.memory_budget_bytes = 1'000'000;
  StatusOr<std::vector<EstimatedRow>> rows =
      EstimateReproductions(options, nullptr);
  ASSERT_OK(rows);
  EXPECT_EQ((*rows)[0].hours, std::nullopt);
  EXPECT_EQ((*rows)[0].measured_batch, 0);
  EXPECT_GT((*rows)[0].planned_bytes, options.memory_budget_bytes);
  EXPECT_EQ((*rows)[0].strategy, Strategy::kFeaturesOnly);
}

TEST(ReproductionEstimateTest, StopsWhenToldSo) {
  EstimateOptions options = Options("densenet-40-12", {"cifar10", "svhn"});
  options.memory_budget_bytes = 1;
  StatusOr<std::vector<EstimatedRow>> rows =
      EstimateReproductions(options, [](const EstimatedRow&) { return false; });
  ASSERT_OK(rows);
  EXPECT_EQ(rows->size(), 1u);
}

TEST(ReproductionEstimateTest, SmallerBatchesStandInForLongSteps) {
  const ModelConfig model = FindPresetOrNull("densenet-40-12")->model;
  const double image = 6 * static_cast<double>(MultiplyAdds(model));
  EXPECT_EQ(MeasuredBatch(model, 64, 1000 * image), 64);
  EXPECT_EQ(MeasuredBatch(model, 64, 9 * image), 8);
  EXPECT_EQ(MeasuredBatch(model, 64, 0), 1);
  EXPECT_EQ(MeasuredBatch(model, 100, 1000 * image), 64);
}

TEST(ReproductionEstimateTest, ImpossibleOptionsAreNamed) {
  EstimateOptions options = Options("densenet-40-12", {"svhn"});
  options.steps = 0;
  EXPECT_THAT(EstimateReproductions(options, nullptr),
              Fails(StatusCode::kInvalidArgument, {"--steps 0"}));
  options.steps = 1;
  options.epochs_scale = 2;
  EXPECT_THAT(EstimateReproductions(options, nullptr),
              Fails(StatusCode::kInvalidArgument, {"--epochs-scale 2"}));
}

}  // namespace
}  // namespace densenet
