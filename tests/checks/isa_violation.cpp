// What check.isa must reject: a function compiled for AVX outside of a target's namespace.
namespace engine::checks {

void Scale(float* values, int count) {
  for (int i = 0; i < count; ++i) values[i] *= 2;
}

}  // namespace engine::checks
