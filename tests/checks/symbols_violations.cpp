// What check.symbols must reject, each in a form that a library could plausibly contain.
#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace engine::checks {

void WriteToStandardOutput(const char* text) {
  std::cout << text;
  std::puts(text);
}

[[noreturn]] void Abort() { std::abort(); }

}  // namespace engine::checks
