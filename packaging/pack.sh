#!/usr/bin/env bash
# pack.sh BUILD VERSION OUT: the .deb and the tarball from BUILD/packaged. Fails when the result is larger than it may be or needs a
# library besides glibc 2.36's.
set -euo pipefail
build=$(realpath "$1") version=$2 out=$3
here=$(dirname "$(realpath "$0")")
root=$(dirname "$here")
tree=$build/packaged

# Limits: MB unpacked, MB packed, glibc.
largest=180 largest_packed=60 glibc=2.36

fail() { echo "pack.sh: $*" >&2; exit 1; }

# Whatever is linked in: its terms go along.
libraries=(clang-22 libfmt-dev liblld-22-dev libclang-22-dev libstdc++-12-dev libzstd-dev llvm-22-dev rocm-device-libs spirv-tools zlib1g-dev)

check_needs() {
  local file needed symbol
  while read -r file; do
    needed=$(objdump -p "$file" | sed -n 's/^ *NEEDED *//p' |
      grep -vxE 'lib(c|m|dl|rt|pthread)\.so\.[0-9]|ld-linux-x86-64\.so\.2|libmorgana_core\.so' || true)
    [ -z "$needed" ] || fail "$file needs $needed"
    symbol=$(objdump -T "$file" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)
    [ "$(printf '%s\n' "GLIBC_$glibc" "$symbol" | sort -V | tail -n 1)" = "GLIBC_$glibc" ] || fail "$file needs $symbol"
  done < <(find "$tree/bin" "$tree/lib" -type f)
}

# Each library shows what the usual one does, and the core nothing but Morgana's own functions.
exports() { nm -D --defined-only "$1" | awk '$2 != "A" {print $3}' | sort; }
check_exports() {
  local library strange
  for library in libmorgana.so rocm/libhsakmt.so.1 rocm/libdtif.so rocm/libmorgana_kfd_driver.so rocm/libmorgana_hip_check.so; do
    diff <(exports "$build/lib/$library") <(exports "$tree/lib/${library/rocm/morgana\/rocm}") >&2 || fail "$library exports something else"
  done
  strange=$(exports "$tree/lib/morgana/libmorgana_core.so" | grep -vE '^_Z(NK?|T.N)7morgana.*@@MORGANA_CORE$' || true)
  [ -z "$strange" ] || fail "libmorgana_core.so exports $strange"
}

# LLVM's code, and no other, lies between its two marks (device/jit/llvm_guard.cpp).
check_order() {
  awk '/:\(\.text/ {
      if (/libpackaged_llvm_begin\.a/) inside = ++marks
      else if (/libpackaged_llvm_end\.a/) { inside = 0; ++marks }
      else if (!!inside != (/\/lib(LLVM|clang|lld)[A-Za-z0-9]*\.a\(/ ? 1 : 0)) { print "out of its place: " $0; exit 1 }
    }
    END { if (marks != 2) exit 1 }' "$tree/core.map" >&2 || fail "the linker did not keep the order"
}

# put_tree FOLDER: what both packages have.
put_tree() {
  local doc=$1/share/doc/morgana library
  mkdir -p "$doc/licenses"
  cmake --install "$build" --component package --prefix "$1" >/dev/null
  cp "$root/README.md" "$root/CHANGELOG.md" "$doc"
  cp "$root/LICENSE" "$doc/copyright"
  for library in "${libraries[@]}"; do
    if [ -f "/usr/share/doc/$library/copyright" ]; then
      cp -L "/usr/share/doc/$library/copyright" "$doc/licenses/$library"
    fi
  done
  chmod -R u=rwX,go=rX "$1"
}

check_needs
check_exports
check_order
rm -rf "$out"
mkdir -p "$out"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

name=morgana-$version
put_tree "$stage/$name"
size=$(du -sm --apparent-size "$stage/$name" | cut -f1)
((size <= largest)) || fail "$size MB unpacked, more than $largest"
tarball=$out/$name-x86_64.tar.gz
tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" | gzip -9n >"$tarball"

deb=$stage/deb
mkdir -p "$deb/DEBIAN" "$deb/etc/OpenCL/vendors"
put_tree "$deb/usr"
echo /usr/lib/libmorgana.so >"$deb/etc/OpenCL/vendors/morgana.icd"
cat >"$deb/DEBIAN/control" <<CONTROL
Package: morgana
Version: $version
Architecture: amd64
Maintainer: Morgana <root@localhost>
Installed-Size: $(du -sk --apparent-size "$deb/usr" | cut -f1)
Depends: libc6 (>= $glibc)
Recommends: ocl-icd-libopencl1 | libopencl1
Provides: opencl-icd
Section: libs
Priority: optional
Description: AMD GPU in software
 OpenCL programs find Morgana through the ICD loader, HIP programs through
 AMD's own runtimes (morgana run), and see an AMD GPU. Kernels are AMD machine
 code, executed on the CPU.
CONTROL
package=$out/morgana_${version}_amd64.deb
dpkg-deb --root-owner-group -Zxz --build "$deb" "$package" >/dev/null

for file in "$tarball" "$package"; do
  packed=$(($(stat -c %s "$file") / 1000000))
  ((packed <= largest_packed)) || fail "$file: $packed MB, more than $largest_packed"
  echo "$(realpath --relative-to="$root" "$file"): $packed MB, $size MB unpacked"
done
