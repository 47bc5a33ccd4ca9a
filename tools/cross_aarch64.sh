#!/usr/bin/env bash
# cross_aarch64.sh <source folder> [ctest arguments]
#
# Builds the preset `aarch64` and runs its tests under qemu's user-mode emulation. The cross compiler,
# the arm64 libraries and qemu live in a Debian root of their own, <source>/build/aarch64-root, which
# the first run makes (root, debootstrap and a Debian mirror are needed; DEBIAN_MIRROR names another
# one). The mounts belong to this process alone and end with it.
set -euo pipefail
readonly SOURCE=$1
shift
readonly ROOT=$SOURCE/build/aarch64-root
readonly MIRROR=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
readonly SUITE=bookworm
readonly NATIVE=(ccache cmake ninja-build g++-aarch64-linux-gnu qemu-user-static nlohmann-json3-dev)
readonly FOREIGN=(libabsl-dev libfmt-dev libhwy-dev libgtest-dev libgmock-dev)
# The tools inside read none of the caller's settings, but for these.
readonly INSIDE=(env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive
  LANG=C.UTF-8 CCACHE_DIR=/ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
  "CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}"
  "CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-$(nproc)}")

# Left out, since under emulation they take minutes each: on the target that is active anyway, every
# case has run by itself; and of the runs that pretend other cache sizes, NEON's are there.
readonly REPEATS='\.(on_neon|(without|between)_caches_on_scalar)$'

say() { printf '== %s\n' "$*"; }

# A half-made root is made anew: the stamp is its last file, and says what it holds.
make_root() {
  local stamp="$SUITE ${NATIVE[*]} ${FOREIGN[*]}"
  if [[ "$(cat "$ROOT/.stamp" 2>/dev/null)" == "$stamp" ]]; then return; fi
  say "making $ROOT (Debian $SUITE)"
  rm -rf "$ROOT"
  mkdir -p "$ROOT"
  {
    debootstrap --variant=minbase "$SUITE" "$ROOT" "$MIRROR"
    chroot "$ROOT" "${INSIDE[@]}" dpkg --add-architecture arm64
    chroot "$ROOT" "${INSIDE[@]}" apt-get update -q
    chroot "$ROOT" "${INSIDE[@]}" apt-get install -q -y --no-install-recommends \
      "${NATIVE[@]}" "${FOREIGN[@]/%/:arm64}"
  } >"$SOURCE/build/aarch64-root.log" 2>&1 || {
    tail -n 40 "$SOURCE/build/aarch64-root.log" >&2
    exit 1
  }
  printf '%s' "$stamp" >"$ROOT/.stamp"
}

if [[ ${1:-} != --inside ]]; then
  make_root
  exec unshare --mount --propagation private "${BASH_SOURCE[0]}" "$SOURCE" --inside "$@"
fi
shift

mkdir -p "$ROOT/engine_tensor"
mount --bind "$SOURCE" "$ROOT/engine_tensor"
mount --rbind /dev "$ROOT/dev"
mount -t proc proc "$ROOT/proc"
quiet=()
[[ -t 1 ]] || quiet=(-- --quiet)
run() { chroot "$ROOT" "${INSIDE[@]}" bash -c 'cd /engine_tensor && exec "$@"' run "$@"; }
say "configuring build/aarch64"
run cmake --preset aarch64 >"$SOURCE/build/aarch64.configure.log" 2>&1 || {
  cat "$SOURCE/build/aarch64.configure.log" >&2
  exit 1
}
say "building build/aarch64"
run cmake --build --preset aarch64 "${quiet[@]}"
say "testing build/aarch64"
run ctest --preset aarch64 -E "$REPEATS" "$@"
