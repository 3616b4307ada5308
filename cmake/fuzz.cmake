# SPDX-License-Identifier: Apache-2.0
# tests/fuzz/fuzz_NAME.c: programs of libFuzzer, built by tools/fuzz.sh with clang.
if(ORTHANT_FUZZ)
  file(GLOB FUZZERS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/fuzz_*.c)
  foreach(source ${FUZZERS})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(${name} PRIVATE orthant)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
    list(APPEND FUZZ_TARGETS ${name})
  endforeach()
  add_custom_target(fuzzers DEPENDS ${FUZZ_TARGETS}) # without the program, which no fuzzer needs
endif()
