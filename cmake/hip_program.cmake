# hip_program(NAME SOURCE file.hip [LIBRARIES -lfoo ...]): a HIP program in bin/, built by the system's hipcc; nothing
# when there is none, or with a sanitizer (its runtime would have to come before hipcc's program).
# HIP_PROGRAM_<NAME>_BUILT tells.
find_program(HIPCC hipcc)

function(hip_program name)
  cmake_parse_arguments(ARG "" "SOURCE" "LIBRARIES" ${ARGN})
  set(HIP_PROGRAM_${name}_BUILT FALSE PARENT_SCOPE)
  if(NOT HIPCC OR CMAKE_CXX_FLAGS MATCHES "-fsanitize")
    return()
  endif()
  foreach(library ${ARG_LIBRARIES})
    string(REPLACE "-l" "" plain ${library})
    find_library(HIP_PROGRAM_LIBRARY_${plain} ${plain})
    if(NOT HIP_PROGRAM_LIBRARY_${plain})
      return()
    endif()
  endforeach()
  set(program ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name})
  add_custom_command(OUTPUT ${program}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
    COMMAND ${HIPCC} -x hip -O2 -std=c++17 -Wno-\#warnings --offload-arch=gfx90a ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_SOURCE} ${ARG_LIBRARIES}
            -o ${program}
    DEPENDS ${ARG_SOURCE})
  add_custom_target(${name} ALL DEPENDS ${program})
  set(HIP_PROGRAM_${name}_BUILT TRUE PARENT_SCOPE)
endfunction()
