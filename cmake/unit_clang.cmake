# For a folder whose code is not the product: compiled by WEFT_UNIT_CLANG where GCC compiles the product. clang takes three fifths of GCC's
# time for code that is not optimised.
if(WEFT_UNIT_CLANG AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  string(REPLACE "<CMAKE_CXX_COMPILER>" "${WEFT_UNIT_CLANG}" CMAKE_CXX_COMPILE_OBJECT "${CMAKE_CXX_COMPILE_OBJECT}")
  # It is given the library's flags, some of which are GCC's alone. Timestamps in headers, and what libstdc++ deprecates: see weft_options.
  foreach(flag -Qunused-arguments -Wno-unknown-warning-option -Wno-deprecated-declarations "SHELL:-Xclang -fno-pch-timestamp")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:${flag}>)
  endforeach()
  set(CMAKE_PCH_EXTENSION .pch)
  set(CMAKE_CXX_COMPILE_OPTIONS_CREATE_PCH -Xclang -emit-pch -Xclang -include -Xclang <PCH_HEADER> -x c++-header)
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE> -Xclang -include -Xclang <PCH_HEADER>)
endif()
