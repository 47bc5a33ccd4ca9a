// tensor/internal/box_muller.h: uniform and normal values from a 64-bit generator.
// Templates over the generator, so that a test can inject the draws.
#ifndef ENGINE_TENSOR_INTERNAL_BOX_MULLER_H_
#define ENGINE_TENSOR_INTERNAL_BOX_MULLER_H_

#include <cmath>
#include <cstdint>
#include <numbers>

namespace engine::tensor::internal {

// In [0, 1), a multiple of 2^-53: the upper 53 bits of one draw.
template <typename Engine>
[[nodiscard]] double UnitUniform(Engine& engine) {
  const std::uint64_t draw = engine();
  return static_cast<double>(draw >> 11) * 0x1p-53;
}

// Standard normal values by the Box-Muller transform, two per pair of draws: the cosine one first.
template <typename Engine>
class BoxMuller {
 public:
  // `engine` outlives this object.
  explicit BoxMuller(Engine& engine) : engine_(engine) {}

  [[nodiscard]] double Next() {
    if (has_second_) {
      has_second_ = false;
      return second_;
    }
    double u1 = UnitUniform(engine_);
    const double u2 = UnitUniform(engine_);
    if (u1 == 0) u1 = 0x1p-53;  // ln 0 is infinite; this is the next smallest draw
    const double radius = std::sqrt(-2.0 * std::log(u1));
    const double angle = 2.0 * std::numbers::pi * u2;
    second_ = radius * std::sin(angle);
    has_second_ = true;
    return radius * std::cos(angle);
  }

 private:
  Engine& engine_;
  double second_ = 0;
  bool has_second_ = false;
};

}  // namespace engine::tensor::internal

#endif  // ENGINE_TENSOR_INTERNAL_BOX_MULLER_H_
