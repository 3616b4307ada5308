# SPDX-License-Identifier: Apache-2.0
# Files of src that pages are made of (CSS, JavaScript, HTML) become constants of the library: src/inspect/inspect_page.css is
# `const char oa_inspect_page_css[]`, with a zero at its end. Included, this defines
#     orthant_embed(TARGET FILE...)    FILE from the source folder
# and run with cmake -P, with INPUT, OUTPUT and SYMBOL, it writes one of the constants.
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ "${INPUT}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  file(WRITE "${OUTPUT}" "extern const char ${SYMBOL}[];\nconst char ${SYMBOL}[] = {${bytes}0};\n")
  return()
endif()

function(orthant_embed target)
  foreach(file ${ARGN})
    get_filename_component(name ${file} NAME)
    string(REPLACE "." "_" symbol oa_${name})
    set(output ${CMAKE_BINARY_DIR}/embedded/${name}.c)
    add_custom_command(OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -DINPUT=${CMAKE_SOURCE_DIR}/${file} -DOUTPUT=${output} -DSYMBOL=${symbol}
              -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
      DEPENDS ${CMAKE_SOURCE_DIR}/${file} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
    target_sources(${target} PRIVATE ${output})
  endforeach()
endfunction()
