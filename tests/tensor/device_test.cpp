#include "tensor/device.h"

#include <fmt/compile.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/status.h"
#include "testing/death_test_style.h"
#include "testing/status_matchers.h"

namespace engine::tensor {
namespace {

using ::engine::testing::IsOk;
using ::engine::testing::StatusIs;

constexpr int kMaxIndex = std::numeric_limits<int>::max();

// A small value type, usable in constant expressions.
static_assert(std::is_trivially_copyable_v<Device>);
static_assert(static_cast<int>(DeviceType::kCPU) == 0 && static_cast<int>(DeviceType::kCUDA) == 1);
static_assert(sizeof(DeviceType) == 1);
static_assert(Device() == Device::Cpu());
static_assert(Device(DeviceType::kCUDA, 2) == Device::Cuda(2));
static_assert(Device::Cuda(0) != Device::Cpu());

template <DeviceType kType, int kIndex>
concept ConstantDevice = requires {
  typename std::integral_constant<int, Device(kType, kIndex).index()>;
};
static_assert(ConstantDevice<DeviceType::kCUDA, kMaxIndex>);
static_assert(!ConstantDevice<DeviceType::kCPU, 1>);
static_assert(!ConstantDevice<DeviceType::kCUDA, -1>);

TEST(DeviceTest, DefaultIsCpu) {
  const Device device;
  EXPECT_EQ(device.type(), DeviceType::kCPU);
  EXPECT_EQ(device.index(), 0);
  EXPECT_TRUE(device.is_cpu());
  EXPECT_FALSE(device.is_cuda());
}

TEST(DeviceTest, CudaKeepsItsIndex) {
  const Device device = Device::Cuda(3);
  EXPECT_EQ(device.type(), DeviceType::kCUDA);
  EXPECT_EQ(device.index(), 3);
  EXPECT_FALSE(device.is_cpu());
  EXPECT_TRUE(device.is_cuda());
}

TEST(DeviceTest, EqualityComparesTypeAndIndex) {
  EXPECT_EQ(Device(DeviceType::kCPU, 0), Device::Cpu());
  EXPECT_EQ(Device::Cuda(1), Device::Cuda(1));
  EXPECT_NE(Device::Cuda(1), Device::Cuda(2));
  EXPECT_NE(Device::Cuda(0), Device::Cpu());
}

TEST(DeviceTest, FormatsTypeAndIndex) {
  EXPECT_EQ(Device::Cpu().ToString(), "cpu");
  EXPECT_EQ(Device::Cuda(0).ToString(), "cuda:0");
  EXPECT_EQ(fmt::format("{}", Device::Cuda(12)), "cuda:12");
  EXPECT_EQ(fmt::format("{}", Device::Cpu()), "cpu");
  EXPECT_EQ(fmt::format("{} {}", DeviceType::kCPU, DeviceType::kCUDA), "cpu cuda");
  EXPECT_EQ(fmt::format("[{:>6}]", DeviceType::kCUDA), "[  cuda]");
  EXPECT_EQ(fmt::to_string(DeviceType::kCPU), "cpu");
  EXPECT_EQ(fmt::format(FMT_COMPILE("{} {}"), DeviceType::kCUDA, Device::Cuda(1)), "cuda cuda:1");
}

// Parse: "cpu", "cuda" and "cuda:N" only.
TEST(DeviceParseTest, AcceptsTheThreeForms) {
  ASSERT_THAT(Device::Parse("cpu"), IsOk());
  EXPECT_EQ(*Device::Parse("cpu"), Device::Cpu());
  ASSERT_THAT(Device::Parse("cuda:7"), IsOk());
  EXPECT_EQ(*Device::Parse("cuda:7"), Device::Cuda(7));
  ASSERT_THAT(Device::Parse("cuda:10"), IsOk());
  EXPECT_EQ(*Device::Parse("cuda:10"), Device::Cuda(10));
}

// P77: bare "cuda" is "cuda:0".
TEST(DeviceParseTest, BareCudaIsIndexZero) {
  ASSERT_THAT(Device::Parse("cuda"), IsOk());
  ASSERT_THAT(Device::Parse("cuda:0"), IsOk());
  EXPECT_EQ(*Device::Parse("cuda"), *Device::Parse("cuda:0"));
  EXPECT_EQ(*Device::Parse("cuda"), Device::Cuda(0));
}

TEST(DeviceParseTest, RoundTripsWhatToStringPrints) {
  for (const Device device : {Device::Cpu(), Device::Cuda(0), Device::Cuda(1), Device::Cuda(9),
                              Device::Cuda(10), Device::Cuda(1000), Device::Cuda(kMaxIndex)}) {
    const core::StatusOr<Device> parsed = Device::Parse(device.ToString());
    ASSERT_THAT(parsed, IsOk());
    EXPECT_EQ(*parsed, device);
  }
}

TEST(DeviceParseTest, LargestIndexIsIntMax) {
  ASSERT_THAT(Device::Parse("cuda:2147483647"), IsOk());
  EXPECT_EQ(Device::Parse("cuda:2147483647")->index(), 2147483647);
  for (const std::string_view spec : {"cuda:2147483648", "cuda:4294967296", "cuda:4294967297",
                                      "cuda:9223372036854775808", "cuda:99999999999999999999999"}) {
    EXPECT_THAT(Device::Parse(spec), StatusIs(core::StatusCode::kInvalidArgument)) << spec;
  }
}

void ExpectRejected(std::string_view spec) {
  EXPECT_THAT(Device::Parse(spec), StatusIs(core::StatusCode::kInvalidArgument,
                                            ::testing::HasSubstr(fmt::format("'{}'", spec))));
}

// P77: text before, after or instead of a device is never ignored.
TEST(DeviceParseTest, RejectsTrailingTextAndForeignForms) {
  for (const std::string_view spec :
       {"cuda:2 cuda:3", "cuda0", "cuda:", "cuda:-1", "cpu:0", "cpu:-1", ""}) {
    ExpectRejected(spec);
  }
}

TEST(DeviceParseTest, RejectsSignsSpacesAndLeadingZeros) {
  for (const std::string_view spec :
       {"cuda:+1", "cuda:-0", "cuda:01", "cuda:00", "cuda:007", " cuda", "cuda ", "cuda: 1",
        "cuda:1 ", "cuda :1", "cpu ", " cpu", "\tcpu", "cpu\n"}) {
    ExpectRejected(spec);
  }
}

TEST(DeviceParseTest, RejectsOtherSpellings) {
  for (const std::string_view spec :
       {"CPU",      "Cpu",      "CUDA",     "CUDA:0", "cpu:1",   "gpu",     "cud",
        "cp",       "c",        ":",        ":0",     "0",       "cuda::0", "cuda:0:0",
        "cuda:0x1", "cuda:1.0", "cuda:1e1", "cuda:a", "cuda:1a", "mps",     "cpucuda"}) {
    ExpectRejected(spec);
  }
}

TEST(DeviceParseTest, RejectsEmbeddedNul) {
  EXPECT_THAT(Device::Parse(std::string_view("cpu\0", 4)),
              StatusIs(core::StatusCode::kInvalidArgument));
  EXPECT_THAT(Device::Parse(std::string_view("cuda:1\0", 7)),
              StatusIs(core::StatusCode::kInvalidArgument));
}

// Reads no byte past the view: the digits continue behind it.
TEST(DeviceParseTest, StopsAtTheEndOfTheView) {
  const std::string_view text = "cuda:123";
  ASSERT_THAT(Device::Parse(text.substr(0, 6)), IsOk());
  EXPECT_EQ(*Device::Parse(text.substr(0, 6)), Device::Cuda(1));
  ASSERT_THAT(Device::Parse(text.substr(0, 4)), IsOk());
  EXPECT_EQ(*Device::Parse(text.substr(0, 4)), Device::Cuda(0));
}

// The invariants are the caller's to keep: index >= 0, and 0 on the CPU.
class DeviceDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, testing::kDeathTestStyle); }
};

TEST_F(DeviceDeathTest, CpuWithAnIndex) {
  EXPECT_DEATH(static_cast<void>(Device(DeviceType::kCPU, 5)), "Device: cpu has no index 5");
}

TEST_F(DeviceDeathTest, UnknownType) {
  EXPECT_DEATH(static_cast<void>(Device(static_cast<DeviceType>(7), 0)),
               "Device: 7 is not a DeviceType");
}

TEST_F(DeviceDeathTest, NegativeIndex) {
  EXPECT_DEATH(static_cast<void>(Device(DeviceType::kCPU, -1)), "Device: index -1 is negative");
  EXPECT_DEATH(static_cast<void>(Device(DeviceType::kCUDA, -2)), "Device: index -2 is negative");
  EXPECT_DEATH(static_cast<void>(Device::Cuda(-3)), "Device: index -3 is negative");
}

}  // namespace
}  // namespace engine::tensor
