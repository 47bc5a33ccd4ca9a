#include "strided/fp_environment.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "testing/fp_mode.h"

namespace engine::strided {
namespace {

using testing::FpMode;
using testing::kDefaultFpControl;
using testing::kHostFpModes;
using testing::ReadFpControl;
using testing::ReadFpFlags;
using testing::ScopedFpControl;

// Within the scope the mode is the default one; afterwards control word and sticky flags are the
// host's again, whatever was computed meanwhile.
TEST(ScopedDefaultFpEnvironmentTest, SetsTheDefaultAndRestoresTheHostsMode) {
  for (const FpMode& mode : kHostFpModes) {
    SCOPED_TRACE(mode.name);
    std::uint64_t within = 0;
    std::uint64_t flags_within = 0;
    std::uint64_t after = 0;
    std::uint64_t flags_before = 0;
    std::uint64_t flags_after = 0;
    volatile float three = 3.0f;
    {
      const ScopedFpControl host(mode.control);
      flags_before = ReadFpFlags();
      {
        const ScopedDefaultFpEnvironment environment;
        within = ReadFpControl();
        three = 1.0f / three;  // inexact
        flags_within = ReadFpFlags();
      }
      after = ReadFpControl();
      flags_after = ReadFpFlags();
    }
    EXPECT_EQ(within, kDefaultFpControl);
    EXPECT_NE(flags_within, 0u);
    EXPECT_EQ(after, mode.control);
    EXPECT_EQ(flags_after, flags_before);
  }
}

TEST(ScopedDefaultFpEnvironmentTest, NestsAndCostsNothingVisibleInTheDefaultMode) {
  const ScopedFpControl host(kDefaultFpControl);
  {
    const ScopedDefaultFpEnvironment outer;
    const ScopedDefaultFpEnvironment inner;
    EXPECT_EQ(ReadFpControl(), kDefaultFpControl);
  }
  EXPECT_EQ(ReadFpControl(), kDefaultFpControl);
}

}  // namespace
}  // namespace engine::strided
