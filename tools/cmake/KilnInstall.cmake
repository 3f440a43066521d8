# `cmake --install`: the library, its public headers, the lessons, the CMake package, kiln.pc and the licence. A program needs nothing
# else to compile and link: Kiln links its own dependencies privately.
include(CMakePackageConfigHelpers)

# Where the loader looks for LLVM and MLIR: beside the library, where a program may ship them, then where Debian's packages install them, which
# is outside of the loader's default folders. Nothing of the machine that builds. CMAKE_INSTALL_RPATH is another choice.
if(NOT DEFINED CMAKE_INSTALL_RPATH)
  set_target_properties(kiln PROPERTIES INSTALL_RPATH "$ORIGIN;/usr/lib/llvm-${LLVM_VERSION_MAJOR}/lib")
endif()
install(TARGETS kiln EXPORT kiln-targets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
foreach(folder runtime frontend)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}/include/kiln" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
          FILES_MATCHING PATTERN "*.h")
endforeach()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/kiln")
install(EXPORT kiln-targets NAMESPACE kiln:: FILE kiln-config.cmake DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/kiln-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/kiln-config-version.cmake" DESTINATION "${package_dir}")

install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATAROOTDIR}/doc/kiln")

# The installed tree is relocatable: paths are relative to the file.
file(RELATIVE_PATH pc_to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file("${CMAKE_CURRENT_LIST_DIR}/kiln.pc.in" "${PROJECT_BINARY_DIR}/kiln.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/kiln.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# The lessons, with what they share with Kiln's tests: examples/CMakeLists.txt finds it in either place.
set(examples_dir "${CMAKE_INSTALL_DATADIR}/kiln/examples")
file(GLOB examples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/[0-9]*")
install(FILES ${examples} "${PROJECT_SOURCE_DIR}/examples/CMakeLists.txt" "${PROJECT_SOURCE_DIR}/examples/README.md"
              "${PROJECT_SOURCE_DIR}/tests/tutorials/check_output.cmake" DESTINATION "${examples_dir}")
foreach(file symbol.json 0000.params io.params)
  install(FILES "${PROJECT_SOURCE_DIR}/tests/golden/models/tiny_resnet-${file}" DESTINATION "${examples_dir}/models")
endforeach()
