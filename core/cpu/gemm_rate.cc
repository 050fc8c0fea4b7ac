#include "core/cpu/gemm_rate.h"

#include <chrono>
#include <vector>

#include "core/cpu/gemm.h"

namespace densenet {
namespace {

// Three operands of 16 KB: all of them in L1.
constexpr int64_t kSide = 64;
constexpr int64_t kElems = kSide * kSide;
constexpr int kCallsBetweenClocks = 100;

using Clock = std::chrono::steady_clock;

double Seconds(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

double MeasureGemmRate(const Context& ctx, double seconds) {
  const Gemm gemm({kSide, kSide, kSide, kSide, kSide, kSide});
  const int threads = ctx.threads().threads();
  std::vector<double> rates(threads);
  ctx.threads().ParallelFor(threads, [&](int64_t item, int) {
    std::vector<float> a(kElems, 0.5f);
    std::vector<float> b(kElems, 0.25f);
    std::vector<float> c(kElems);
    gemm(a.data(), b.data(), c.data());  // generates the code
    int64_t calls = 0;
    const Clock::time_point begin = Clock::now();
    double elapsed = 0;
    while (elapsed < seconds) {
      for (int i = 0; i < kCallsBetweenClocks; ++i) {
        gemm(a.data(), b.data(), c.data());
      }
      calls += kCallsBetweenClocks;
      elapsed = Seconds(begin);
    }
    rates[item] = static_cast<double>(calls) * 2 * kSide * kElems / elapsed;
  });
  double total = 0;
  for (double rate : rates) total += rate;
  constexpr double kGiga = 1e9;
  return total / kGiga;
}

}  // namespace densenet
