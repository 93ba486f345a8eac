# What `cmake --install` gives: the command, the public headers, libweft with its CMake package and pkg-config file.
#
# The library is shared because only a shared library can keep LLVM to itself: with a static archive its symbols would
# meet those of another LLVM in the host process. The version script exports namespace weft and nothing else.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(weft_parts runtime network plan loop lower codegen jit cache engine frontend)
set(objects "")
set(libraries "")
foreach(part IN LISTS weft_parts)
  list(APPEND objects $<TARGET_OBJECTS:weft_${part}>)
  get_target_property(linked weft_${part} LINK_LIBRARIES)
  list(FILTER linked EXCLUDE REGEX "^weft_")
  list(APPEND libraries ${linked})
endforeach()

add_library(weft_library SHARED ${objects})
add_library(weft::weft ALIAS weft_library)
set_target_properties(weft_library PROPERTIES OUTPUT_NAME weft EXPORT_NAME weft LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/libweft.map)
target_link_libraries(weft_library PRIVATE ${libraries})
target_link_options(weft_library PRIVATE -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/libweft.map
  -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,-Bsymbolic-functions -Wl,-z,defs)
target_compile_features(weft_library INTERFACE cxx_std_23)
target_include_directories(weft_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/runtime/include> $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/engine/include>
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/frontend/include>)

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
install(TARGETS weft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS weft_library EXPORT weft LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(top runtime engine frontend)
  if(EXISTS ${CMAKE_SOURCE_DIR}/${top}/include)
    install(DIRECTORY ${top}/include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
  endif()
endforeach()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT weft NAMESPACE weft:: FILE weft-targets.cmake DESTINATION ${package_directory})
file(WRITE ${CMAKE_BINARY_DIR}/weft-config.cmake "include(\${CMAKE_CURRENT_LIST_DIR}/weft-targets.cmake)\n")
write_basic_package_version_file(${CMAKE_BINARY_DIR}/weft-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/weft-config.cmake ${CMAKE_BINARY_DIR}/weft-config-version.cmake
        DESTINATION ${package_directory})

# The prefix is only known at install time, so the file finds it from its own place (lib/x86_64-linux-gnu may be deep).
file(RELATIVE_PATH pc_to_prefix /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(${CMAKE_CURRENT_LIST_DIR}/weft.pc.in ${CMAKE_BINARY_DIR}/weft.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/weft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
