# Cross compilation to 64-bit Arm with Debian's packages: g++-aarch64-linux-gnu, the -dev packages of
# the architecture arm64 (multiarch, so they are found without a sysroot), and qemu-user-static, which
# runs what was built. `./dev cross aarch64` puts all of it into a root of its own.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
