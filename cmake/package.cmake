# `cpack` in the build folder makes weft_VERSION_ARCHITECTURE.deb of what `cmake --install` gives; with the static library
# where weft_static was built.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME weft)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Embeddable JIT engine for networks of sparse tensors")
set(CPACK_PACKAGE_DESCRIPTION "weft evaluates sums of products of sparse and dense tensors. It chooses order, fusion and layouts,\n\
compiles vector code for exactly that loop nest in process, and runs it on all cores.\n\
This package holds the command, the shared library, and the headers for C++ and C.")
set(CPACK_PACKAGE_CONTACT "weft developers <weft@localhost>")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_WEFT_TOOLS dpkg-shlibdeps file)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/package_depends.cmake)
set(depends libc6 libstdc++6 libgcc-s1)
foreach(name tbb fmt z zstd xxhash edit)
  find_library(packed_${name} ${name})
  file(REAL_PATH "${packed_${name}}" packed)
  string(REGEX REPLACE "^/usr" "" unmerged "${packed}")  # where the package was made before /lib became /usr/lib
  execute_process(COMMAND dpkg-query -S ${packed} ${unmerged} OUTPUT_VARIABLE owner ERROR_QUIET)
  if(owner MATCHES "^([^:]+):")
    list(APPEND depends ${CMAKE_MATCH_1})
  endif()
endforeach()
list(JOIN depends ", " CPACK_WEFT_DEPENDS)
# Loaded when the planner first asks for it, so dpkg-shlibdeps cannot see it.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS libz3-4)
include(CPack)
