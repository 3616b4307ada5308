# SPDX-License-Identifier: Apache-2.0
# Compiler flags of the files named for an instruction set; the files are left out elsewhere than on x86-64.
# -O3, since only there gcc unrolls the short loops over registers completely; not under sanitizers, whose checks it copies
# too: they are compiled as the rest, in a third of the time.
set(ISA_OPTIMIZE "-O3;")
if(ORTHANT_SANITIZE)
  set(ISA_OPTIMIZE "")
endif()
if(ORTHANT_FUZZ) # a quarter of the time again; the attentions that fuzzers run have a few tokens
  set(ISA_OPTIMIZE "-O0;")
endif()
set(ISA_FLAGS_avx2 "${ISA_OPTIMIZE}-mavx2;-mfma;-mf16c")
set(ISA_FLAGS_avx512 "${ISA_OPTIMIZE}-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx512cd;-mfma;-mf16c;-mprefer-vector-width=512")
set(ISA_FLAGS_avx512bf16 "${ISA_FLAGS_avx512};-mavx512bf16")
set(ISA_FLAGS_amx "${ISA_FLAGS_avx512bf16}") # instructions on tiles are written in assembly

foreach(isa avx2 avx512 avx512bf16 amx)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    foreach(source ${ORTHANT_SOURCES})
      if(source MATCHES "_${isa}\\.c$")
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${ISA_FLAGS_${isa}};-fno-lto")
      endif()
    endforeach()
  else()
    list(FILTER ORTHANT_SOURCES EXCLUDE REGEX "_${isa}\\.c$")
  endif()
endforeach()
