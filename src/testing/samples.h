// testing/samples.h: bit patterns that find conversion faults.
// Test support; never installed.
#ifndef ENGINE_TESTING_SAMPLES_H_
#define ENGINE_TESTING_SAMPLES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "tensor/dtype.h"
#include "testing/reference.h"

namespace engine::testing {

namespace internal {

// Mantissas around every place where a narrower format or an integer cuts.
inline std::vector<std::uint64_t> BoundaryMantissas(int mantissa_bits) {
  const std::uint64_t all = (std::uint64_t{1} << mantissa_bits) - 1;
  std::vector<std::uint64_t> mantissas = {0, 1, 2, all, all - 1, all >> 1};
  // 7, 10, 23: mantissas of the narrower formats. 8 to 31: where integer parts end.
  for (const int kept : {0, 7, 8, 10, 15, 16, 23, 31}) {
    if (kept >= mantissa_bits) continue;
    const std::uint64_t place = std::uint64_t{1} << (mantissa_bits - kept);
    const std::uint64_t tie = place / 2;
    const std::uint64_t upper = all & ~(place - 1);
    for (const std::uint64_t base : {tie, place, place + tie, upper, upper + tie}) {
      for (const std::uint64_t mantissa : {base - 1, base, base + 1}) {
        mantissas.push_back(mantissa & all);
      }
    }
  }
  return mantissas;
}

inline void AppendFloatBoundaries(reference::FloatFormat format, std::vector<std::uint64_t>& bits) {
  const int last_exponent = (1 << format.exponent_bits) - 1;
  const std::vector<std::uint64_t> mantissas = BoundaryMantissas(format.mantissa_bits);
  for (int exponent = 0; exponent <= last_exponent; ++exponent) {
    // Far from the range of float nothing changes from one double exponent to the next.
    const int distance = exponent - format.bias();
    const bool everywhere = exponent < 3 || exponent > last_exponent - 3;
    if (!everywhere && (distance < -155 || distance > 131)) continue;
    for (const std::uint64_t mantissa : mantissas) {
      for (const std::uint64_t sign : {std::uint64_t{0}, std::uint64_t{1}}) {
        bits.push_back((sign << format.sign_position()) |
                       (static_cast<std::uint64_t>(exponent) << format.mantissa_bits) | mantissa);
      }
    }
  }
}

inline void AppendIntegerBoundaries(int width, std::vector<std::uint64_t>& bits) {
  for (int power = 0; power < width; ++power) {
    const std::uint64_t leading = std::uint64_t{1} << power;
    std::vector<std::uint64_t> magnitudes = {leading};
    // Half a unit in the last place of each floating format, below an even and an odd neighbour.
    for (const int mantissa_bits : {7, 10, 23, 52}) {
      if (power <= mantissa_bits) continue;
      const std::uint64_t tie = std::uint64_t{1} << (power - mantissa_bits - 1);
      for (const std::uint64_t factor : {1u, 2u, 3u}) magnitudes.push_back(leading + factor * tie);
      magnitudes.push_back(2 * leading - tie);
    }
    for (const std::uint64_t magnitude : magnitudes) {
      for (const std::uint64_t near : {magnitude - 2, magnitude - 1, magnitude, magnitude + 1}) {
        bits.push_back(reference::LowBits(near, width));
        bits.push_back(reference::LowBits(~near + 1, width));
      }
    }
  }
}

}  // namespace internal

// Every pattern of an 8-bit or 16-bit dtype; for wider ones the neighbourhoods of all rounding and
// range boundaries, and random patterns of random width. bool has all its byte patterns.
[[nodiscard]] inline std::vector<std::uint64_t> SampleBits(tensor::DataType dtype,
                                                           std::uint64_t seed = 1) {
  constexpr int kRandomSamples = 4000;
  const int width = tensor::itemsize_bits(dtype);
  std::vector<std::uint64_t> bits;
  if (width <= 16) {
    for (std::uint64_t pattern = 0; pattern < std::uint64_t{1} << width; ++pattern) {
      bits.push_back(pattern);
    }
    return bits;
  }
  if (tensor::is_floating_point(dtype)) {
    internal::AppendFloatBoundaries(reference::FormatOf(dtype), bits);
  } else {
    internal::AppendIntegerBoundaries(width, bits);
  }
  std::mt19937_64 random(seed);
  for (int i = 0; i < kRandomSamples; ++i) {
    const std::uint64_t pattern = random();
    bits.push_back(reference::LowBits(pattern, width));
    // As an integer this has a random magnitude; as a float it is small or subnormal.
    bits.push_back(reference::LowBits(pattern, width) >> (random() % static_cast<unsigned>(width)));
  }
  return bits;
}

// The dtypes that cast accepts on both sides.
inline constexpr std::array<tensor::DataType, 12> kCastableDTypes = {
    tensor::DataType::kFloat64,  tensor::DataType::kFloat32, tensor::DataType::kFloat16,
    tensor::DataType::kBFloat16, tensor::DataType::kInt8,    tensor::DataType::kUInt8,
    tensor::DataType::kInt16,    tensor::DataType::kUInt16,  tensor::DataType::kInt32,
    tensor::DataType::kUInt32,   tensor::DataType::kInt64,   tensor::DataType::kUInt64};

}  // namespace engine::testing

#endif  // ENGINE_TESTING_SAMPLES_H_
