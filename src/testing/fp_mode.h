// testing/fp_mode.h: the floating-point mode as a host program may have set it.
// Test support; never installed.
#ifndef ENGINE_TESTING_FP_MODE_H_
#define ENGINE_TESTING_FP_MODE_H_

#include <array>
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace engine::testing {

struct FpMode {
  const char* name;
  std::uint64_t control;  // MXCSR with its sticky flags, or FPCR
};

#if defined(__x86_64__)

// MXCSR: control and sticky flags in one word.
[[nodiscard]] inline std::uint64_t ReadFpControl() { return _mm_getcsr(); }
inline void WriteFpControl(std::uint64_t control) {
  _mm_setcsr(static_cast<std::uint32_t>(control));
}
[[nodiscard]] inline std::uint64_t ReadFpFlags() { return _mm_getcsr() & 0x3Fu; }

inline constexpr std::uint64_t kDefaultFpControl = 0x1F80;
inline constexpr std::array<FpMode, 7> kHostFpModes = {{
    {"flush to zero and denormals are zero", 0x1F80 | 0x8040},
    {"downward", 0x1F80 | 0x2000},
    {"upward", 0x1F80 | 0x4000},
    {"toward zero", 0x1F80 | 0x6000},
    {"every exception traps", 0x0000},
    {"every sticky flag set", 0x1F80 | 0x003F},
    {"upward, flushing, sticky inexact", 0x1F80 | 0x8040 | 0x4000 | 0x0020},
}};

#elif defined(__aarch64__)

[[nodiscard]] inline std::uint64_t ReadFpControl() {
  std::uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  return control;
}
inline void WriteFpControl(std::uint64_t control) { asm volatile("msr fpcr, %0" ::"r"(control)); }
[[nodiscard]] inline std::uint64_t ReadFpFlags() {
  std::uint64_t flags = 0;
  asm volatile("mrs %0, fpsr" : "=r"(flags));
  return flags;
}

// Traps are optional on this architecture and left out.
inline constexpr std::uint64_t kDefaultFpControl = 0;
inline constexpr std::array<FpMode, 5> kHostFpModes = {{
    {"flush to zero", 0x1000000},
    {"upward", 0x400000},
    {"downward", 0x800000},
    {"toward zero", 0xC00000},
    {"upward, flushing", 0x1400000},
}};

#endif

// Sets a control word for the scope. Keep assertions outside of it: they may compute too.
class ScopedFpControl {
 public:
  explicit ScopedFpControl(std::uint64_t control) : saved_(ReadFpControl()) {
    WriteFpControl(control);
  }
  ~ScopedFpControl() { WriteFpControl(saved_); }
  ScopedFpControl(const ScopedFpControl&) = delete;
  ScopedFpControl& operator=(const ScopedFpControl&) = delete;

 private:
  std::uint64_t saved_;
};

}  // namespace engine::testing

#endif  // ENGINE_TESTING_FP_MODE_H_
