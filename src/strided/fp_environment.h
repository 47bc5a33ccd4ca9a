// strided/fp_environment.h: makes results independent of the host's floating-point mode.
// Layer 2.
#ifndef ENGINE_STRIDED_FP_ENVIRONMENT_H_
#define ENGINE_STRIDED_FP_ENVIRONMENT_H_

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace engine::strided {

// While it lives, the calling thread rounds to nearest even, keeps subnormals (no flush-to-zero, no
// denormals-are-zero) and traps nothing; on destruction the host's control word and its sticky
// exception flags are back as they were. Costs a few nanoseconds, two when the host already is in
// that mode.
//
// The compiler does not know that floating-point operations depend on this object. Keep them behind
// a call that is not inlined, or between loads and stores: the memory barriers here order those.
class ScopedDefaultFpEnvironment {
 public:
  // Saves the control word and sets the default.
  ScopedDefaultFpEnvironment() : saved_(Read()) {
    if (saved_ != kDefault) Write(kDefault);
    Barrier();
  }
  // Restores the control word and the exception flags.
  ~ScopedDefaultFpEnvironment() {
    Barrier();
    Restore();
  }
  ScopedDefaultFpEnvironment(const ScopedDefaultFpEnvironment&) = delete;
  ScopedDefaultFpEnvironment& operator=(const ScopedDefaultFpEnvironment&) = delete;

 private:
  static void Barrier() { asm volatile("" ::: "memory"); }

#if defined(__x86_64__)
  using Word = std::uint32_t;
  static constexpr Word kDefault = 0x1F80;  // MXCSR after reset: every exception masked
  static Word Read() { return _mm_getcsr(); }
  static void Write(Word word) { _mm_setcsr(word); }
  // MXCSR holds the sticky exception flags too, so the saved word restores both.
  void Restore() const {
    if (_mm_getcsr() != saved_) _mm_setcsr(saved_);
  }
#elif defined(__aarch64__)
  using Word = std::uint64_t;
  static constexpr Word kDefault = 0;  // FPCR after reset
  static Word Read() {
    Word word = 0;
    asm volatile("mrs %0, fpcr" : "=r"(word));
    return word;
  }
  static void Write(Word word) { asm volatile("msr fpcr, %0" ::"r"(word)); }
  static Word ReadFlags() {
    Word word = 0;
    asm volatile("mrs %0, fpsr" : "=r"(word));
    return word;
  }
  void Restore() const {
    if (saved_ != kDefault) Write(saved_);
    asm volatile("msr fpsr, %0" ::"r"(saved_flags_));
  }
  Word saved_flags_ = ReadFlags();
#endif

  Word saved_;
};

}  // namespace engine::strided

#endif  // ENGINE_STRIDED_FP_ENVIRONMENT_H_
