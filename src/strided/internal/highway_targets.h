// strided/internal/highway_targets.h: which Highway targets are compiled, and tables over them.
// Included before any Highway header by every file that contains vector code.
//
// Three x86 variants and one for aarch64 keep the archives small (SSSE3 and AVX3_DL add nothing to
// these kernels over their neighbours; SVE's vectors have no size at compile time, which register
// tiles need). The fallback is no Highway target but the scalar code of
// internal/scalar_kernels.cpp.
#ifndef ENGINE_STRIDED_INTERNAL_HIGHWAY_TARGETS_H_
#define ENGINE_STRIDED_INTERNAL_HIGHWAY_TARGETS_H_

#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

// ENGINE_TARGET_TABLE(F) initialises an array of pointers to the per-target functions F, in the
// order of Target without kScalar; null where this architecture has no such target. What AVX-512 with
// BF16 does better than without is chosen apart.
#define ENGINE_TARGET_TABLE(F)                                                      \
  {                                                                                 \
    HWY_CHOOSE_AVX3(F), HWY_CHOOSE_AVX3(F), HWY_CHOOSE_AVX2(F), HWY_CHOOSE_SSE4(F), \
        HWY_CHOOSE_NEON(F)                                                          \
  }

#endif  // ENGINE_STRIDED_INTERNAL_HIGHWAY_TARGETS_H_
