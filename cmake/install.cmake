# SPDX-License-Identifier: Apache-2.0
# The shared library, manual pages and completion, and what `make install` puts where.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

if(ORTHANT_SANITIZE OR CMAKE_CROSSCOMPILING)
  return()
endif()

# The same objects as liborthant.a; only what orthant.h marks OA_API can be seen from outside.
add_library(orthant-shared SHARED $<TARGET_OBJECTS:orthant>)
get_target_property(ORTHANT_LINKS orthant LINK_LIBRARIES)
target_link_libraries(orthant-shared PRIVATE ${ORTHANT_LINKS})
target_include_directories(orthant-shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(orthant-shared PROPERTIES OUTPUT_NAME orthant EXPORT_NAME orthant VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR})

install(TARGETS orthant-shared EXPORT orthant-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES $<TARGET_FILE:orthant> DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/orthant DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS orthant-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES data/tinyshakespeare.txt DESTINATION ${CMAKE_INSTALL_DATADIR}/orthant) # src/tokenizers/sample_text.c finds it

# ---- pages and completion, written by the program itself

set(PAGES ${CMAKE_BINARY_DIR}/pages)
add_custom_command(OUTPUT ${PAGES}/stamp DEPENDS orthant-cli
                   COMMAND ${CMAKE_COMMAND} -E make_directory ${PAGES}/man1
                   COMMAND orthant-cli man --out ${PAGES}/man1
                   COMMAND orthant-cli completion bash > ${PAGES}/orthant
                   COMMAND orthant-cli completion zsh > ${PAGES}/_orthant
                   COMMAND orthant-cli completion fish > ${PAGES}/orthant.fish
                   COMMAND ${CMAKE_COMMAND} -E touch ${PAGES}/stamp VERBATIM)
add_custom_target(pages ALL DEPENDS ${PAGES}/stamp)
install(DIRECTORY ${PAGES}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
install(FILES ${PAGES}/orthant DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${PAGES}/_orthant DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${PAGES}/orthant.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# ---- packages for other programs; paths are relative, so that an installed tree can be moved

set(ORTHANT_PC ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(ORTHANT_CMAKE ${CMAKE_INSTALL_LIBDIR}/cmake/orthant)
file(RELATIVE_PATH ORTHANT_UP_FROM_PC /${ORTHANT_PC} /)
set(ORTHANT_PRIVATE_LIBS "-lm -lpthread")
if(ORTHANT_ZSTD AND ZSTD_FOUND)
  set(ORTHANT_PRIVATE_LIBS "-lzstd ${ORTHANT_PRIVATE_LIBS}")
endif()
if(ORTHANT_HTTP AND HTTP_FOUND)
  set(ORTHANT_PRIVATE_LIBS "-lmicrohttpd ${ORTHANT_PRIVATE_LIBS}")
endif()
if(ORTHANT_ONEDNN)
  set(ORTHANT_PRIVATE_LIBS "${OneDNN_PRIVATE_LIBS} ${ORTHANT_PRIVATE_LIBS}")
endif()
# Libraries instead of Requires.private: pkg-config --cflags would give their flags to programs that never see them.
set(ORTHANT_PC_PRIVATE_LIBS ${JANSSON_STATIC_LDFLAGS} ${YAML_STATIC_LDFLAGS} ${PCRE2_STATIC_LDFLAGS}
    ${UTF8PROC_STATIC_LDFLAGS} ${ZLIB_STATIC_LDFLAGS} ${MD_STATIC_LDFLAGS})
list(REMOVE_DUPLICATES ORTHANT_PC_PRIVATE_LIBS)
list(JOIN ORTHANT_PC_PRIVATE_LIBS " " ORTHANT_PC_PRIVATE_LIBS)
string(PREPEND ORTHANT_PC_PRIVATE_LIBS "${ORTHANT_PRIVATE_LIBS} ")
configure_file(cmake/orthant.pc.in orthant.pc @ONLY)
configure_package_config_file(cmake/orthant-config.cmake.in ${CMAKE_BINARY_DIR}/orthant-config.cmake
                              INSTALL_DESTINATION ${ORTHANT_CMAKE}
                              PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/orthant-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/orthant.pc DESTINATION ${ORTHANT_PC})
install(FILES ${CMAKE_BINARY_DIR}/orthant-config.cmake ${CMAKE_BINARY_DIR}/orthant-config-version.cmake
        DESTINATION ${ORTHANT_CMAKE})
install(EXPORT orthant-targets NAMESPACE orthant:: DESTINATION ${ORTHANT_CMAKE})

# ---- what is left to do where the loader does not look

configure_file(cmake/after_install.cmake.in ${CMAKE_BINARY_DIR}/after_install.cmake @ONLY)
install(SCRIPT ${CMAKE_BINARY_DIR}/after_install.cmake)
