// testing/fault.h: how a process ends that touches memory it must not.
// Test support; never installed.
#ifndef ENGINE_TESTING_FAULT_H_
#define ENGINE_TESTING_FAULT_H_

#include <sys/wait.h>

#include <csignal>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ENGINE_TESTING_SANITIZER_HANDLES_FAULTS 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ENGINE_TESTING_SANITIZER_HANDLES_FAULTS 1
#endif

namespace engine::testing {

// A predicate for EXPECT_EXIT: killed by SIGSEGV or SIGBUS. Sanitizers catch the signal, report it,
// and exit with a code of their own.
inline constexpr auto kDiesOfFault = [](int status) {
#ifdef ENGINE_TESTING_SANITIZER_HANDLES_FAULTS
  return WIFEXITED(status) ? WEXITSTATUS(status) != 0 : WIFSIGNALED(status) != 0;
#else
  return WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS);
#endif
};

}  // namespace engine::testing

#endif  // ENGINE_TESTING_FAULT_H_
