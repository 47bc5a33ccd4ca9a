// testing/death_test_style.h: how death tests start the process that is to die.
// Test support; never installed.
#ifndef ENGINE_TESTING_DEATH_TEST_STYLE_H_
#define ENGINE_TESTING_DEATH_TEST_STYLE_H_

namespace engine::testing {

// For GTEST_FLAG_SET(death_test_style, ...). "threadsafe" executes the test program anew, rather than
// forking a process whose other threads are gone; under an emulator (tests/CMakeLists.txt defines
// the macro) the kernel cannot execute it, and a fork it must be.
#ifdef ENGINE_TEST_EMULATED
inline constexpr const char* kDeathTestStyle = "fast";
#else
inline constexpr const char* kDeathTestStyle = "threadsafe";
#endif

}  // namespace engine::testing

#endif  // ENGINE_TESTING_DEATH_TEST_STYLE_H_
