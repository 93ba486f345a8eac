# Read by cpack before it packs. What a package depends on is found by dpkg-shlibdeps and file; where one of them is missing (the
# set-up installs neither), it is the packages that the libraries were linked from, of any version.
foreach(tool IN LISTS CPACK_WEFT_TOOLS)
  find_program(found_${tool} ${tool})
  if(NOT found_${tool})
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
    set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS OFF)
    set(CPACK_DEBIAN_PACKAGE_DEPENDS "${CPACK_WEFT_DEPENDS}")
  endif()
endforeach()
