#include "strided/target.h"

#include "strided/internal/highway_targets.h"
// After highway_targets.h.
#include <hwy/highway.h>
#include <hwy/targets.h>
#if HWY_ARCH_X86
#include <cpuid.h>
#endif

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "strided/internal/active_target.h"

namespace engine::strided {
namespace {

struct TargetInfo {
  Target target;
  std::string_view name;
  std::int64_t highway_bit;  // 0: needs nothing
};

// Best first.
constexpr std::array<TargetInfo, 6> kTargets = {{
    {Target::kAvx3Bf16, "avx3_bf16", HWY_ARCH_X86 ? std::int64_t{HWY_AVX3} : -1},
    {Target::kAvx3, "avx3", HWY_ARCH_X86 ? std::int64_t{HWY_AVX3} : -1},
    {Target::kAvx2, "avx2", HWY_ARCH_X86 ? std::int64_t{HWY_AVX2} : -1},
    {Target::kSse4, "sse4", HWY_ARCH_X86 ? std::int64_t{HWY_SSE4} : -1},
    {Target::kNeon, "neon", HWY_ARCH_ARM ? std::int64_t{HWY_NEON} : -1},
    {Target::kScalar, "scalar", 0},
}};

struct Selection {
  std::array<std::string_view, kTargets.size()> names{};
  std::array<Target, kTargets.size()> targets{};
  std::size_t count = 0;
  std::size_t active = 0;
};

// AVX512_BF16, which Highway 1.0 does not tell from AVX-512 without it: CPUID leaf 7, subleaf 1.
bool CpuHasAvx512Bf16() {
#if HWY_ARCH_X86
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & (1u << 5)) != 0;
#else
  return false;
#endif
}

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

Selection Select() {
  Selection selection;
  // What the CPU can do and the kernels were compiled for: with a wider baseline (-march) Highway
  // leaves out the targets below it.
  const std::int64_t supported = hwy::SupportedTargets() & HWY_TARGETS;
  for (const TargetInfo& info : kTargets) {
    if (info.highway_bit != 0 && (info.highway_bit < 0 || (supported & info.highway_bit) == 0)) {
      continue;
    }
    if (info.target == Target::kAvx3Bf16 && !CpuHasAvx512Bf16()) continue;
    selection.names[selection.count] = info.name;
    selection.targets[selection.count] = info.target;
    ++selection.count;
  }
  const char* const wanted = std::getenv("ENGINE_CPU");
  if (wanted == nullptr || *wanted == '\0') return selection;
  for (std::size_t i = 0; i < selection.count; ++i) {
    if (EqualsIgnoringCase(wanted, selection.names[i])) {
      selection.active = i;
      return selection;
    }
  }
  std::fprintf(stderr,
               "engine_tensor: ENGINE_CPU='%s' is not a target of this CPU; valid:", wanted);
  for (std::size_t i = 0; i < selection.count; ++i) {
    std::fprintf(stderr, " %s", selection.names[i].data());
  }
  std::fprintf(stderr, "; using %s\n", selection.names[selection.active].data());
  return selection;
}

const Selection& Selected() {
  static const Selection selection = Select();
  return selection;
}

}  // namespace

Target ActiveTargetKind() { return Selected().targets[Selected().active]; }

std::string_view ActiveTarget() { return Selected().names[Selected().active]; }

std::span<const std::string_view> SupportedTargets() {
  return {Selected().names.data(), Selected().count};
}

}  // namespace engine::strided
