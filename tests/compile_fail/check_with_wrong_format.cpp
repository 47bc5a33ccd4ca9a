// The message of a CHECK is matched against its arguments at compile time, not when it fires.
#include "core/check.h"

namespace engine::core {

void Right(int count) { ENGINE_CHECK(count > 0, "{} is not positive", count); }
#ifdef ENGINE_COMPILE_FAIL
void Wrong(int count) { ENGINE_CHECK(count > 0, "{:s} is not positive", count); }
#endif

}  // namespace engine::core
