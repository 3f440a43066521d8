# `cmake --install`: the library, its public headers, the lessons, the CMake package and kiln.pc. A program needs nothing else to compile
# and link: Kiln links its own dependencies privately.
include(CMakePackageConfigHelpers)

# LLVM is outside of the loader's default paths.
set_target_properties(kiln PROPERTIES INSTALL_RPATH_USE_LINK_PATH TRUE)
install(TARGETS kiln EXPORT kiln-targets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
foreach(folder runtime frontend)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}/include/kiln" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
          FILES_MATCHING PATTERN "*.h")
endforeach()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/kiln")
install(EXPORT kiln-targets NAMESPACE kiln:: FILE kiln-config.cmake DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/kiln-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/kiln-config-version.cmake" DESTINATION "${package_dir}")

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
