// tensor/debug.h: tensors for debuggers.
// Layer 3.
//
//   (gdb) p engine::tensor::DebugString(weights)
//   (lldb) expr engine::tensor::DebugString(weights)
//
// Include it in any one source of a program that is compiled with -g. gdb also has the
// printers of tools/gdb, which need no call into the program.
#ifndef ENGINE_TENSOR_DEBUG_H_
#define ENGINE_TENSOR_DEBUG_H_

#include "tensor/tensor.h"

namespace engine::tensor {

namespace internal {
[[nodiscard]] const char* FormatForDebugger(const Tensor& tensor);
}  // namespace internal

// ops::to_string of the tensor, or what can be said of one that is not on the cpu; shortened to
// some 4000 bytes. A plain string, which every debugger shows, in memory of this thread: valid until
// its next call.
//   Throws   std::bad_alloc, if the text cannot be allocated.
//
// Here rather than in the archive: so it is kept in programs that never call it, and debuggers know
// it from the program's own debug information.
[[nodiscard, gnu::noinline, gnu::used]] inline const char* DebugString(const Tensor& tensor) {
  return internal::FormatForDebugger(tensor);
}

}  // namespace engine::tensor

#endif  // ENGINE_TENSOR_DEBUG_H_
