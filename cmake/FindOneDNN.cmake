# SPDX-License-Identifier: Apache-2.0
# oneDNN, 2.x or 3.x: its header and its library, and OpenMP's run-time library where oneDNN runs on it, since
# gemm_onednn.c then calls it too. The package file that comes with oneDNN is not read: it asks for everything that a
# build of oneDNN could use, e.g. the headers of OpenCL for graphics cards, of which Orthant uses nothing.
#
# OneDNN::dnnl              what to link with
# OneDNN_VERSION            2.6.0, from the header
# OneDNN_PRIVATE_LIBS       the same for the command line of a linker: -ldnnl -lgomp
find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.h)
find_library(OneDNN_LIBRARY dnnl)
mark_as_advanced(OneDNN_INCLUDE_DIR OneDNN_LIBRARY)

set(OneDNN_needed OneDNN_LIBRARY OneDNN_INCLUDE_DIR)
set(OneDNN_PRIVATE_LIBS -ldnnl)
if(OneDNN_INCLUDE_DIR)
  set(OneDNN_headers ${OneDNN_INCLUDE_DIR}/oneapi/dnnl)
  file(STRINGS ${OneDNN_headers}/dnnl_version.h OneDNN_lines REGEX "^#define DNNL_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
  string(REGEX REPLACE "[^0-9]+" "." OneDNN_VERSION "${OneDNN_lines}")
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" OneDNN_VERSION "${OneDNN_VERSION}")
  file(STRINGS ${OneDNN_headers}/dnnl_config.h OneDNN_openmp
       REGEX "^#define DNNL_CPU_THREADING_RUNTIME +DNNL_RUNTIME_OMP")
  if(OneDNN_openmp)
    # Without a compiler for OpenMP there is only the name with the number.
    find_library(OneDNN_OPENMP_LIBRARY NAMES gomp libgomp.so.1)
    mark_as_advanced(OneDNN_OPENMP_LIBRARY)
    list(APPEND OneDNN_needed OneDNN_OPENMP_LIBRARY)
    set(OneDNN_PRIVATE_LIBS "-ldnnl -lgomp")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN REQUIRED_VARS ${OneDNN_needed} VERSION_VAR OneDNN_VERSION
  REASON_FAILURE_MESSAGE "Debian has it as libdnnl-dev. -DORTHANT_ONEDNN=OFF builds without it, but slow.")

if(OneDNN_FOUND AND NOT TARGET OneDNN::dnnl)
  add_library(OneDNN::dnnl UNKNOWN IMPORTED)
  set_target_properties(OneDNN::dnnl PROPERTIES
    IMPORTED_LOCATION "${OneDNN_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${OneDNN_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${OneDNN_OPENMP_LIBRARY}")
endif()
