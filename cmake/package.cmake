# What `./dev package` ships: the products (libmorgana.so, the ROCm doors, the tool) linked anew from the objects of this build, so
# that they need nothing but glibc.
#
# Usually each product has the rooms' libraries in itself and shares LLVM as the system has it. Packaged, they share
# libmorgana_core.so, which has the rooms from base/ to the compiler, LLVM, Clang, LLD and the C++ runtime. What it exports are the
# functions of namespace morgana, under a version name of their own (core_exports.map): neither LLVM nor the C++ runtime meets another
# one of the process. Target `package`; component `package` of `cmake --install`.
include(GNUInstallDirs)
set(PACKAGED ${CMAKE_BINARY_DIR}/packaged)
# --disable-new-dtags: RPATH, which LD_LIBRARY_PATH does not go before.
set(packaged_flags -fuse-ld=lld -static-libstdc++ -static-libgcc -Wl,--as-needed -Wl,--gc-sections -Wl,-O2 -Wl,--strip-all
  -Wl,--disable-new-dtags -Wl,-z,pack-relative-relocs)

# LLD and Clang name every target that LLVM was built for, of which these two are used, and its extensions.
file(STRINGS ${MORGANA_LLVM_ROOT}/include/llvm/Config/Targets.def targets REGEX "^LLVM_TARGET\\(")
list(TRANSFORM targets REPLACE "^LLVM_TARGET\\((.*)\\)$" "\\1")
list(REMOVE_ITEM targets AMDGPU X86)
file(STRINGS ${MORGANA_LLVM_ROOT}/include/llvm/Support/Extension.def extensions REGEX "^HANDLE_EXTENSION\\(")
list(TRANSFORM extensions REPLACE "^HANDLE_EXTENSION\\((.*)\\)$" "\\1")
set(text "// Written by CMake: what is left out.\n#include <llvm/Plugins/PassPlugin.h>\n")
foreach(extension ${extensions})
  string(APPEND text "llvm::PassPluginLibraryInfo get${extension}PluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, \"${extension}\", \"\", [](llvm::PassBuilder&) {}};\n}\n")
endforeach()
foreach(target ${targets})
  foreach(part TargetInfo Target TargetMC AsmPrinter AsmParser)
    string(APPEND text "extern \"C\" void LLVMInitialize${target}${part}() {}\n")
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${PACKAGED}/left_out.cpp CONTENT "${text}")

# The limits of LLVM's code (device/jit/llvm_guard.cpp): the linker keeps the order of its arguments. pack.sh looks whether it did.
foreach(mark begin end)
  file(CONFIGURE OUTPUT ${PACKAGED}/llvm_${mark}.c CONTENT "// Written by CMake.\nvoid morgana_llvm_${mark}(void) {}\n")
  add_library(packaged_llvm_${mark} STATIC EXCLUDE_FROM_ALL ${PACKAGED}/llvm_${mark}.c)
  set(llvm_${mark} -Wl,--whole-archive $<TARGET_FILE:packaged_llvm_${mark}> -Wl,--no-whole-archive)
endforeach()

# Members of archives come in when they are needed, so that all may be named.
file(GLOB archives ${MORGANA_LLVM_ROOT}/lib/libLLVM*.a ${MORGANA_LLVM_ROOT}/lib/libclang*.a)
string(REPLACE ";" "|" targets "${targets}")
list(FILTER archives EXCLUDE REGEX "/libLLVM(${targets})")
list(PREPEND archives ${MORGANA_LLVM_ROOT}/lib/liblldELF.a ${MORGANA_LLVM_ROOT}/lib/liblldCommon.a)
set(archives ${llvm_begin} ${archives} ${llvm_end})
foreach(name zstd z SPIRV-Tools)
  find_library(MORGANA_STATIC_${name} lib${name}.a REQUIRED)
  list(APPEND archives ${MORGANA_STATIC_${name}})
endforeach()

# The rooms' objects, in which the functions of namespace morgana are shown: the compiler has hidden them. Those of the interpreter's
# levels stay hidden.
set(rooms base codeobj codeobj_link isa lift jit checks device device_testing device_vectors cache run_summary findings capsule runtime compiler_assemble spirv
  device_pack compiler)
# objects_of(VARIABLE TARGET): its objects, without the headers that it compiles in advance, which CMake counts among them.
function(objects_of variable target)
  set(${variable} "$<FILTER:$<TARGET_OBJECTS:${target}>,EXCLUDE,[.]pch$>" PARENT_SCOPE)
endfunction()
set(objects)
foreach(room ${rooms})
  objects_of(room_objects morgana_${room})
  set(archive ${PACKAGED}/objects/${room}.a)
  add_custom_command(OUTPUT ${archive}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PACKAGED}/objects
    COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
    COMMAND ${MORGANA_LLVM_ROOT}/bin/llvm-ar qcs ${archive} ${room_objects}
    COMMAND ${MORGANA_LLVM_ROOT}/bin/llvm-objcopy --wildcard "--set-symbol-visibility=_ZN7morgana*=default"
            "--set-symbol-visibility=_ZNK7morgana*=default" "--set-symbol-visibility=_ZT?N7morgana*=default" ${archive}
    DEPENDS ${room_objects} COMMAND_EXPAND_LISTS VERBATIM)
  list(APPEND objects ${archive})
endforeach()
add_custom_target(packaged_objects DEPENDS ${objects})

# Debian has fmt as a shared library only.
add_library(packaged_fmt STATIC EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/cmake/fmt.cpp)
target_link_libraries(packaged_fmt PUBLIC fmt::fmt)

add_library(packaged_core SHARED EXCLUDE_FROM_ALL ${PACKAGED}/left_out.cpp
  ${MORGANA_INTERP_OBJECTS})
target_include_directories(packaged_core SYSTEM PRIVATE ${MORGANA_LLVM_ROOT}/include)
target_compile_options(packaged_core PRIVATE -fno-rtti)
add_dependencies(packaged_core packaged_objects packaged_fmt packaged_llvm_begin packaged_llvm_end)
target_link_options(packaged_core PRIVATE ${packaged_flags} -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/core_exports.map
  -Wl,-Bsymbolic -Wl,-z,nodelete -Wl,--no-undefined -Wl,--no-call-graph-profile-sort -Wl,-Map=${PACKAGED}/core.map)
target_link_libraries(packaged_core PRIVATE -Wl,--whole-archive ${objects} -Wl,--no-whole-archive $<TARGET_FILE:packaged_fmt> ${archives})
set_target_properties(packaged_core PROPERTIES OUTPUT_NAME morgana_core LINKER_LANGUAGE CXX
  LINK_DEPENDS "${CMAKE_SOURCE_DIR}/cmake/core_exports.map;${objects}" LIBRARY_OUTPUT_DIRECTORY ${PACKAGED}/lib/morgana)

# packaged(TARGET FOLDER CORE [TARGET...]): the target from its objects, and those of other targets, linked with the core, in that folder of
# the package. CORE: the way from there to the core.
function(packaged target folder core)
  set(name packaged_${target})
  get_target_property(options ${target} LINK_OPTIONS)
  get_target_property(output ${target} OUTPUT_NAME)
  get_target_property(type ${target} TYPE)
  set(objects)
  foreach(one ${target} ${ARGN})
    objects_of(of_one ${one})
    list(APPEND objects ${of_one})
  endforeach()
  if(type STREQUAL EXECUTABLE)
    add_executable(${name} EXCLUDE_FROM_ALL ${objects})
    set(options)
    set(output ${target})
  else()
    add_library(${name} SHARED EXCLUDE_FROM_ALL ${objects})
    get_target_property(version ${target} SOVERSION)
    if(version)
      set_target_properties(${name} PROPERTIES SOVERSION ${version})
    endif()
  endif()
  add_dependencies(${name} packaged_fmt)
  target_link_options(${name} PRIVATE ${options} ${packaged_flags})
  target_link_libraries(${name} PRIVATE packaged_core $<TARGET_FILE:packaged_fmt>)
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${output} LINKER_LANGUAGE CXX
    LIBRARY_OUTPUT_DIRECTORY ${PACKAGED}/${folder} RUNTIME_OUTPUT_DIRECTORY ${PACKAGED}/${folder}
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/${core}")
  add_dependencies(package ${name})
endfunction()
# The preloaded libraries need the C library alone as they are.
add_custom_target(package VERBATIM
  COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:libmorgana_kfd> $<TARGET_FILE:libmorgana_hip> ${PACKAGED}/lib/morgana/rocm/)
packaged(libmorgana lib morgana morgana_icd)
packaged(libhsakmt lib/morgana/rocm .. kmt_objects)
packaged(libdtif lib/morgana/rocm .. kmt_objects)
packaged(libmorgana_kfd_driver lib/morgana/rocm .. kmt_objects)
packaged(libmorgana_hip_check lib/morgana/rocm ..)
packaged(morgana bin ../lib/morgana)

# packaging/pack.sh makes both packages of it. The name without a number is for linking.
install(DIRECTORY ${PACKAGED}/bin ${PACKAGED}/lib DESTINATION . COMPONENT package EXCLUDE_FROM_ALL USE_SOURCE_PERMISSIONS
  PATTERN libhsakmt.so EXCLUDE)
