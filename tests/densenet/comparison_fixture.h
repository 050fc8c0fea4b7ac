// tests/densenet/comparison_fixture.h
//
// Comparisons of the smallest networks on a few random images.

#ifndef DENSENET_TESTS_DENSENET_COMPARISON_FIXTURE_H_
#define DENSENET_TESTS_DENSENET_COMPARISON_FIXTURE_H_

#include <gtest/gtest.h>

#include <sstream>

#include "densenet/comparison.h"
#include "tests/densenet/test_cifar.h"
#include "tests/support/temp_dir.h"

namespace densenet::testing {

class ComparisonFixture : public ::testing::Test {
 protected:
  ComparisonFixture() { WriteCifar10(data_, /*per_batch=*/5, /*test=*/12); }

  // After `stop_at` steps and batches of evaluations somebody stops it.
  StatusOr<Comparison> Run(const ComparisonOptions& options, int stop_at = -1) {
    out_.str("");
    ASSIGN_OR_RETURN(Comparison comparison, PlanComparison(options));
    steps_ = 0;
    RETURN_IF_ERROR(RunComparison(
        {.out = out_,
         .should_stop = [this, stop_at] { return ++steps_ == stop_at; }},
        &comparison));
    return comparison;
  }

  TempDir data_;
  TempDir runs_;
  std::ostringstream out_;
  int steps_ = 0;
};

}  // namespace densenet::testing

#endif  // DENSENET_TESTS_DENSENET_COMPARISON_FIXTURE_H_
