# The three ways a target comes to be in this house. Every one of them sees the
# project root as its only include directory, so that an #include names its folder
# and tools/check_includes.py can judge it.
#
# The presets release, asan-ubsan and tsan compile up to eight files of a target as one (CMAKE_UNITY_BUILD), which takes two thirds
# of the processor time. So names of unnamed namespaces and macros should be of one file of a target only: those that are not build as
# long as their files are not compiled together. `dev` and clang-tidy compile each by itself.

# Under a sanitizer its run-time library is in the program: our shared libraries leave it undefined, and programs that
# were built without it (clinfo, Python) cannot load them.
set(MORGANA_SANITIZED OFF)
set(MORGANA_NO_UNDEFINED -Wl,--no-undefined)
if(CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  set(MORGANA_SANITIZED ON)
  set(MORGANA_NO_UNDEFINED)
endif()

# Seconds that a test may take; a sanitizer makes the models of device/ twenty times slower.
set(MORGANA_TEST_TIMEOUT 300)
if(MORGANA_SANITIZED)
  set(MORGANA_TEST_TIMEOUT 1800)
endif()

set(MORGANA_WARNINGS -Wall -Wextra -Werror -Wno-unused-parameter -Wno-missing-field-initializers)

# morgana_headers(NAME FLAGS ... DEPS target ...): headers/NAME.h, compiled in advance; reading the standard library, GoogleTest or
# LLVM is more than a half of what a source file costs. A target shares it by REUSE_FROM if its flags are the same.
# -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON does without and finds what a file forgot to include.
function(morgana_headers name)
  cmake_parse_arguments(ARG "" "" "FLAGS;DEPS" ${ARGN})
  add_library(headers_${name} OBJECT ${CMAKE_SOURCE_DIR}/cmake/headers/empty.cpp)
  target_include_directories(headers_${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(headers_${name} PRIVATE ${ARG_FLAGS})
  target_link_libraries(headers_${name} PRIVATE fmt::fmt ${ARG_DEPS})
  target_precompile_headers(headers_${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/headers/${name}.h)
endfunction()

# morgana_own_headers(TARGET NAME a.h ...): headers/NAME.h and these, which most of its sources include, compiled for it alone.
function(morgana_own_headers target name)
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/)
  target_precompile_headers(${target} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/headers/${name}.h ${ARGN})
endfunction()

# morgana_library(NAME SOURCES a.cpp ... DEPS target ... [HEADERS llvm|none] [OWN_HEADERS a.h ...]): a static library morgana_NAME.
# OWN_HEADERS: as morgana_own_headers.
function(morgana_library name)
  cmake_parse_arguments(ARG "" "HEADERS" "SOURCES;DEPS;PRIVATE_DEPS;OWN_HEADERS" ${ARGN})
  add_library(morgana_${name} STATIC ${ARG_SOURCES})
  target_include_directories(morgana_${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_options(morgana_${name} PRIVATE ${MORGANA_WARNINGS})
  target_link_libraries(morgana_${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  if(NOT ARG_HEADERS)
    set(ARG_HEADERS standard)
  endif()
  if(ARG_OWN_HEADERS)
    morgana_own_headers(morgana_${name} ${ARG_HEADERS} ${ARG_OWN_HEADERS})
  elseif(NOT ARG_HEADERS STREQUAL none)
    target_precompile_headers(morgana_${name} REUSE_FROM headers_${ARG_HEADERS})
  endif()
endfunction()

# morgana_entry(NAME COMMAND program ...): one ctest entry. Its labels are the folders it is declared in (`./dev test ROOM`), and
# LABELS: `guest` executes kernels, so that the gate repeats it compiled (unless it says itself how); `threads` and `parsers` are repeated under sanitizers.
# NEEDS target ...: what must be built besides the program. SHARDS n: several entries, NAME_1, NAME_2, ..., of a GoogleTest program.
# Extra arguments of ctest: TIMEOUT (seconds), ENVIRONMENT, SKIP (the exit code that means skipped).
function(morgana_entry name)
  if(NOT MORGANA_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "TIMEOUT;SHARDS;SKIP" "COMMAND;NEEDS;LABELS;ENVIRONMENT" ${ARGN})
  file(RELATIVE_PATH rooms ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  string(REPLACE "/" ";" rooms ${rooms})
  list(GET ARG_COMMAND 0 program)
  if(TARGET ${program})
    list(APPEND ARG_NEEDS ${program})
  endif()
  if(ARG_ENVIRONMENT MATCHES "MORGANA_JIT=")
    list(REMOVE_ITEM ARG_LABELS guest)
  endif()
  set(labels ${rooms} ${ARG_LABELS})
  foreach(label ${labels})
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    if(ARG_NEEDS)
      add_dependencies(tests_${label} ${ARG_NEEDS})
    endif()
  endforeach()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT ${MORGANA_TEST_TIMEOUT})
  endif()
  if(NOT ARG_SHARDS)
    set(ARG_SHARDS 1)
  endif()
  foreach(shard RANGE 1 ${ARG_SHARDS})
    set(test ${name})
    set(environment ${ARG_ENVIRONMENT})
    if(ARG_SHARDS GREATER 1)
      math(EXPR index "${shard} - 1")
      list(APPEND environment GTEST_TOTAL_SHARDS=${ARG_SHARDS} GTEST_SHARD_INDEX=${index})
      set(test ${name}_${shard})
    endif()
    add_test(NAME ${test} COMMAND ${ARG_COMMAND} COMMAND_EXPAND_LISTS)
    set_tests_properties(${test} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${labels}" ENVIRONMENT "${environment}")
    # What may take long begins first, or it runs alone at the end.
    if(ARG_TIMEOUT GREATER MORGANA_TEST_TIMEOUT)
      set_tests_properties(${test} PROPERTIES COST ${ARG_TIMEOUT})
    endif()
    if(ARG_SKIP)
      set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE ${ARG_SKIP})
    endif()
  endforeach()
endfunction()

# morgana_test(NAME SOURCES a_test.cpp ... DEPS target ...): a GoogleTest program NAME_test and its entry, with morgana_entry's
# other arguments and OWN_HEADERS as above. SEPARATE: its sources define the same names and are never compiled together.
function(morgana_test name)
  if(NOT MORGANA_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "SEPARATE" "TIMEOUT;SHARDS" "SOURCES;DEPS;NEEDS;LABELS;ENVIRONMENT;OWN_HEADERS" ${ARGN})
  add_executable(${name}_test ${ARG_SOURCES})
  target_include_directories(${name}_test PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(${name}_test PRIVATE ${MORGANA_WARNINGS})
  if(ARG_SEPARATE)
    set_target_properties(${name}_test PROPERTIES UNITY_BUILD OFF)
  endif()
  target_compile_definitions(${name}_test PRIVATE MORGANA_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                                  MORGANA_BINARY_DIR="${CMAKE_BINARY_DIR}")
  target_link_libraries(${name}_test PRIVATE ${ARG_DEPS} GTest::gtest GTest::gtest_main)
  if(ARG_OWN_HEADERS)
    morgana_own_headers(${name}_test test ${ARG_OWN_HEADERS})
  else()
    target_precompile_headers(${name}_test REUSE_FROM headers_test)
  endif()
  if(ARG_NEEDS)
    add_dependencies(${name}_test ${ARG_NEEDS})
  endif()
  morgana_entry(${name} COMMAND ${name}_test TIMEOUT "${ARG_TIMEOUT}" SHARDS "${ARG_SHARDS}"
                LABELS ${ARG_LABELS} ENVIRONMENT ${ARG_ENVIRONMENT})
endfunction()

# morgana_fuzzer(NAME SOURCES a_fuzz.cpp DEPS target ...): a libFuzzer program fuzz_NAME (preset `asan-ubsan`; target `fuzzers`: all).
function(morgana_fuzzer name)
  if(NOT MORGANA_FUZZERS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(fuzz_${name} ${ARG_SOURCES})
  target_include_directories(fuzz_${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(fuzz_${name} PRIVATE ${MORGANA_WARNINGS})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(fuzz_${name} PRIVATE ${ARG_DEPS})
  if(NOT TARGET fuzzers)
    add_custom_target(fuzzers)
  endif()
  add_dependencies(fuzzers fuzz_${name})
endfunction()
