#!/bin/sh
# Rebuilds the checked-in objects from kernels.cl and external.cl with clang 22. Run in this directory.
set -eu
bin=/usr/lib/llvm-22/bin
cc() { $bin/clang -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -nogpulib -nogpuinc -O2 -fno-ident \
       -fdebug-compilation-dir=/src -mllvm -amdgpu-internalize-symbols "$@"; }
cc -mcpu=gfx90a:xnack- -mcode-object-version=4 kernels.cl -o gfx90a_v4.co
cc -mcpu=gfx803 -mcode-object-version=5 kernels.cl -o gfx803_v5.co
cc -mcpu=gfx942 -mcode-object-version=5 -g -gdwarf-5 kernels.cl -o gfx942_v5_dwarf5.co
cc -mcpu=gfx900 -mcode-object-version=5 -g -gdwarf-4 kernels.cl -o gfx900_v5_dwarf4.co
cc -mcpu=gfx9-4-generic -mcode-object-version=6 kernels.cl -o gfx9_4_generic_v6.co
cc -mcpu=gfx906 -mcode-object-version=5 -c kernels.cl -o gfx906_v5.o
cc -mcpu=gfx1010:xnack- -mcode-object-version=4 kernels.cl -o gfx1010_v4.co
cc -mcpu=gfx1100 -mcode-object-version=5 kernels.cl -o gfx1100_v5.co
cc -mcpu=gfx1200 -mcode-object-version=6 -mwavefrontsize64 kernels.cl -o gfx1200_v6.co
cc -mcpu=gfx10-3-generic -mcode-object-version=6 kernels.cl -o gfx10_3_generic_v6.co
cc -mcpu=gfx906 -mcode-object-version=5 -fvisibility=default -c external.cl -o external.o
$bin/ld.lld -shared external.o -o external.co
# Bundles: plain, and compressed in versions 2 and 3 of the format.
printf '' > empty
targets=host-x86_64-unknown-linux--,hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-,hipv4-amdgcn-amd-amdhsa--gfx803
bundle() { $bin/clang-offload-bundler -type=o -bundle-align=4096 -targets=$targets -input=empty -input=gfx90a_v4.co \
           -input=gfx803_v5.co "$@"; }
bundle -output=plain.bundle
bundle -compress -output=zstd_v3.bundle
COMPRESSED_BUNDLE_FORMAT_VERSION=2 bundle -compress -output=zstd_v2.bundle
rm empty
# Descriptors as LLVM prints them.
descriptor() { $bin/llvm-objdump -D -j .rodata --disassemble-symbols=$2 $1 | grep '^	'; }
descriptor gfx942_v5_dwarf5.co lds.kd > gfx942_lds_kd.txt
descriptor gfx803_v5.co hidden.kd > gfx803_hidden_kd.txt
for target in gfx1010 gfx1030 gfx1100 gfx1200; do
  $bin/llvm-mc -triple amdgcn-amd-amdhsa -mcpu=$target -filetype=obj rdna_kd.s -o ${target}_kd.o
  { descriptor ${target}_kd.o wave32.kd; descriptor ${target}_kd.o wave64.kd; } > ${target}_kd.txt
done
chmod 644 *.co *.o *.bundle
# Line tables as LLVM prints them: address, line, column.
lines() { $bin/llvm-dwarfdump --debug-line $1 | awk '/^0x/ && !/end_sequence/ { print $1, $2, $3 }'; }
lines gfx942_v5_dwarf5.co > gfx942_lines.txt
lines gfx900_v5_dwarf4.co > gfx900_lines.txt
$bin/llvm-objcopy --compress-debug-sections=zstd gfx942_v5_dwarf5.co gfx942_zstd_lines.co
# The source embedded in the line table, longer than any path.
{ cat kernels.cl; for i in $(seq 200); do echo "// the text of a program may be much longer than a path"; done; } > long.cl
cc -mcpu=gfx942 -mcode-object-version=5 -g -gdwarf-5 -gembed-source long.cl -o long.co
$bin/llvm-objcopy --compress-debug-sections=zstd long.co gfx942_long_source.co
rm long.cl long.co
