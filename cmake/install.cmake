# What `cmake --install` gives: the command, the public headers, libweft with its CMake package and pkg-config file, and
# what `cpack` packs.
#
# The library is shared because a shared library can keep LLVM to itself: in a plain archive its symbols would
# meet those of another LLVM in the host process. The version script exports weft's API and nothing else.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(weft_parts runtime text network prove plan loop lower codegen jit cache engine frontend)
set(objects "")
set(libraries "")
foreach(part IN LISTS weft_parts)
  list(APPEND objects $<TARGET_OBJECTS:weft_${part}>)
  get_target_property(linked weft_${part} LINK_LIBRARIES)
  list(FILTER linked EXCLUDE REGEX "^weft_")
  list(APPEND libraries ${linked})
endforeach()

# The command is in the shared library alone (frontend/repl/entry.h).
add_library(weft_library SHARED ${objects} $<TARGET_OBJECTS:weft_repl>)
add_library(weft::weft ALIAS weft_library)
set_target_properties(weft_library PROPERTIES OUTPUT_NAME weft EXPORT_NAME weft LINKER_LANGUAGE CXX
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/libweft.map)
# A wheel may have what it needs beside it.
set_target_properties(weft_library PROPERTIES INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
target_link_libraries(weft_library PRIVATE ${libraries})
target_link_options(weft_library PRIVATE -Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/libweft.map
  -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,-Bsymbolic-functions -Wl,-z,defs
  -Wl,--wrap=__cxa_atexit)  # runtime/process_end.h
# 85,000 addresses of LLVM's tables as bits instead of 24 bytes each (glibc 2.36): 2 MB less, and no slower to start.
include(CheckLinkerFlag)
check_linker_flag(CXX -Wl,-z,pack-relative-relocs WEFT_PACKS_RELOCATIONS)
if(WEFT_PACKS_RELOCATIONS)
  target_link_options(weft_library PRIVATE -Wl,-z,pack-relative-relocs)
endif()
target_compile_features(weft_library INTERFACE cxx_std_23)
target_include_directories(weft_library INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/runtime/include> $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/engine/include>
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/frontend/include>)

# The static library takes some seconds and is for few: `cmake --build . --target weft_static` before installing.
set(static_library ${CMAKE_BINARY_DIR}/lib/libweft.a)
set(archives "")
set(unvisited ${libraries})
while(unvisited)
  list(POP_FRONT unvisited library)
  string(REGEX REPLACE "^[$]<LINK_ONLY:(.*)>$" "\\1" library "${library}")
  if(TARGET ${library} AND NOT library IN_LIST visited)
    list(APPEND visited ${library})
    get_target_property(type ${library} TYPE)
    get_target_property(linked ${library} INTERFACE_LINK_LIBRARIES)
    if(type STREQUAL STATIC_LIBRARY)
      list(APPEND archives $<TARGET_FILE:${library}>)
    endif()
    if(linked)
      list(APPEND unvisited ${linked})
    endif()
  endif()
endwhile()
add_custom_command(OUTPUT ${static_library} VERBATIM COMMAND_EXPAND_LISTS
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/static_library.sh $<TARGET_FILE:weft_library> ${static_library} ${CMAKE_CXX_COMPILER} ${CMAKE_AR}
          ${CMAKE_OBJCOPY} ${CMAKE_NM} ${objects} ${archives}
  DEPENDS weft_library ${objects} ${CMAKE_CURRENT_LIST_DIR}/static_library.sh COMMENT "Prelinking lib/libweft.a")
add_custom_target(weft_static DEPENDS ${static_library})

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
# From the build folder libweft is found where it was built, once installed beside the command.
file(RELATIVE_PATH bin_to_lib /p/${CMAKE_INSTALL_BINDIR} /p/${CMAKE_INSTALL_LIBDIR})
set_target_properties(weft PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
install(TARGETS weft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS weft_library EXPORT weft LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(top runtime engine frontend)
  if(EXISTS ${CMAKE_SOURCE_DIR}/${top}/include)
    install(DIRECTORY ${top}/include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
  endif()
endforeach()
install(FILES frontend/include/weft.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs samples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN man EXCLUDE PATTERN completions EXCLUDE PATTERN Doxyfile EXCLUDE)
file(GLOB man_pages CONFIGURE_DEPENDS docs/man/*.1)
install(FILES ${man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES docs/completions/weft.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME weft OPTIONAL)
install(FILES docs/completions/_weft DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions OPTIONAL)
install(FILES docs/completions/weft.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d OPTIONAL)
# The API reference, where Doxygen is installed.
find_program(DOXYGEN doxygen)
if(DOXYGEN)
  add_custom_target(docs COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/docs
                    COMMAND sh -c "(cat docs/Doxyfile; echo 'OUTPUT_DIRECTORY = ${CMAKE_BINARY_DIR}/docs') | ${DOXYGEN} -"
                    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} COMMENT "API reference in docs/html/index.html of the build folder" VERBATIM)
endif()
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DMANIFEST=${CMAKE_BINARY_DIR}/installed_files.txt
                  -P ${CMAKE_CURRENT_LIST_DIR}/uninstall.cmake VERBATIM)

install(EXPORT weft NAMESPACE weft:: FILE weft-targets.cmake DESTINATION ${package_directory})
# What libweft.a does not hold: libraries of the system.
set(system_libraries fmt tbb z zstd xxhash m dl pthread)
if(WEFT_SHARED_LLVM)
  list(APPEND system_libraries LLVM-19)
endif()
list(TRANSFORM system_libraries PREPEND -l OUTPUT_VARIABLE static_needs)
list(JOIN static_needs " " static_needs)
string(APPEND static_needs " -lstdc++")
configure_file(${CMAKE_CURRENT_LIST_DIR}/weft-config.cmake.in ${CMAKE_BINARY_DIR}/weft-config.cmake @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/weft-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/weft-config.cmake ${CMAKE_BINARY_DIR}/weft-config-version.cmake
        DESTINATION ${package_directory})

# The prefix is only known at install time, so the file finds it from its own place (lib/x86_64-linux-gnu may be deep).
file(RELATIVE_PATH pc_to_prefix /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
set(pc_name weft)
set(pc_language "")
set(pc_standard " -std=c++23")
configure_file(${CMAKE_CURRENT_LIST_DIR}/weft.pc.in ${CMAKE_BINARY_DIR}/weft.pc @ONLY)
set(pc_name weft-c)
set(pc_language ", for hosts in C")
set(pc_standard "")
configure_file(${CMAKE_CURRENT_LIST_DIR}/weft.pc.in ${CMAKE_BINARY_DIR}/weft-c.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/weft.pc ${CMAKE_BINARY_DIR}/weft-c.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${static_library} DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)

# What `uninstall` removes. CMake's own install_manifest.txt is that of cpack, once that has run.
install(CODE "if(NOT \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\" MATCHES \"/_CPack_Packages/\")
  list(JOIN CMAKE_INSTALL_MANIFEST_FILES \"\\n\" weft_installed)
  file(WRITE \"${CMAKE_BINARY_DIR}/installed_files.txt\" \"\${weft_installed}\\n\")
endif()")

include(${CMAKE_CURRENT_LIST_DIR}/package.cmake)
