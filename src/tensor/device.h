// tensor/device.h: where a tensor's bytes live.
// Layer 1 (tensor_base). Header-only value type, constexpr, thread-safe.
// Source: docs/design/tensor.md, "Device".
#ifndef ENGINE_TENSOR_DEVICE_H_
#define ENGINE_TENSOR_DEVICE_H_

#include <fmt/core.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "core/check.h"
#include "core/formatter.h"
#include "core/status.h"

namespace engine::tensor {

// The kinds of memory that can be named. Values are stable.
enum class DeviceType : std::uint8_t {
  kCPU = 0,   // host memory
  kCUDA = 1,  // reserved: can be named and parsed, nothing can be allocated on it
};

// A device type and its index. Invariants: a known type, index >= 0, and 0 for kCPU, so that
// equality agrees with the printed form.
class Device {
 public:
  constexpr Device() = default;  // cpu
  // CHECKs the invariants.
  constexpr Device(DeviceType type, int index) : type_(type), index_(index) {
    ENGINE_CHECK(type == DeviceType::kCPU || type == DeviceType::kCUDA,
                 "Device: {} is not a DeviceType", static_cast<int>(type));
    ENGINE_CHECK(index >= 0, "Device: index {} is negative", index);
    ENGINE_CHECK(type != DeviceType::kCPU || index == 0, "Device: cpu has no index {}", index);
  }

  // The one host; it has no index.
  [[nodiscard]] static constexpr Device Cpu() { return Device(); }
  // CHECKs index >= 0.
  [[nodiscard]] static constexpr Device Cuda(int index) { return Device(DeviceType::kCUDA, index); }

  [[nodiscard]] constexpr DeviceType type() const { return type_; }  // the kind of memory
  [[nodiscard]] constexpr int index() const { return index_; }       // which one; 0 for the cpu
  // Whether host code may dereference addresses of this device.
  [[nodiscard]] constexpr bool is_cpu() const { return type_ == DeviceType::kCPU; }
  // Whether this only names a device: nothing can be allocated or copied there.
  [[nodiscard]] constexpr bool is_cuda() const { return type_ == DeviceType::kCUDA; }

  // Accepts exactly "cpu", "cuda" (index 0) and "cuda:N", N in plain decimal digits without leading
  // zeros that fits int.
  //   Errors   InvalidArgument: anything else.
  [[nodiscard]] static core::StatusOr<Device> Parse(std::string_view spec);
  // "cpu" or "cuda:N"; Parse reads it back.
  [[nodiscard]] std::string ToString() const;

  friend constexpr bool operator==(const Device&, const Device&) = default;

 private:
  DeviceType type_ = DeviceType::kCPU;
  int index_ = 0;
};

inline core::StatusOr<Device> Device::Parse(std::string_view spec) {
  if (spec == "cpu") return Cpu();
  if (spec == "cuda") return Cuda(0);
  constexpr std::string_view kPrefix = "cuda:";
  if (spec.starts_with(kPrefix)) {
    const std::string_view digits = spec.substr(kPrefix.size());
    int index = 0;
    // from_chars takes a leading '-' and leading zeros; the grammar has neither.
    const bool plain =
        !digits.empty() && digits.front() != '-' && (digits.size() == 1 || digits.front() != '0');
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (plain && error == std::errc() && end == digits.data() + digits.size()) return Cuda(index);
  }
  return core::InvalidArgumentError(
      "Device: '{}' is not a device; expected 'cpu', 'cuda' or 'cuda:N'", spec);
}

}  // namespace engine::tensor

// Prints "cpu" or "cuda"; takes string format specs.
template <>
struct fmt::formatter<engine::tensor::DeviceType> : engine::core::TextFormatter {
  template <typename FormatContext>
  auto format(engine::tensor::DeviceType type, FormatContext& context) const {
    return Write(type == engine::tensor::DeviceType::kCPU ? "cpu" : "cuda", context);
  }
};

// Prints "cpu" or "cuda:N".
template <>
struct fmt::formatter<engine::tensor::Device> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  template <typename FormatContext>
  auto format(const engine::tensor::Device& device, FormatContext& context) const {
    if (device.is_cpu()) return fmt::format_to(context.out(), "{}", device.type());
    return fmt::format_to(context.out(), "{}:{}", device.type(), device.index());
  }
};

namespace engine::tensor {

inline std::string Device::ToString() const { return fmt::format("{}", *this); }

}  // namespace engine::tensor

#endif  // ENGINE_TENSOR_DEVICE_H_
