// What check.symbols must reject, each in a form that a library could plausibly contain.
#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <iostream>
#include <thread>

// assert() in every build type.
#undef NDEBUG
#include <cassert>

namespace engine::checks {

void WriteToStandardOutput(const char* text, int number) {
  std::cout << text;
  std::puts(text);
  std::printf("%d", number);
  std::fputs(text, stdout);
  fmt::print("{}", text);
}

void WriteToStandardError(const char* text) {
  std::cerr << text;
  std::fputs(text, stderr);
}

void Assert(int number) { assert(number > 0); }

void StartThread() {
  std::thread([] {}).detach();
}

int Wait() {
  return std::async([] { return 1; }).get();
}

[[noreturn]] void Exit() { std::exit(1); }

[[noreturn]] void Abort() { std::abort(); }

}  // namespace engine::checks
