# The printers of tools/debug: gdb loads NAME-gdb.py with the library NAME, in the build and in an installed tree.
set(gdb_file "$<TARGET_FILE_NAME:kiln>-gdb.py")
set(KILN_DEBUG_FOLDER "${PROJECT_SOURCE_DIR}/tools/debug")
configure_file("${KILN_DEBUG_FOLDER}/libkiln-gdb.py.in" "${PROJECT_BINARY_DIR}/kiln-debug/build.py" @ONLY)
file(GENERATE OUTPUT "$<TARGET_FILE:kiln>-gdb.py" INPUT "${PROJECT_BINARY_DIR}/kiln-debug/build.py")

if(KILN_INSTALL)
  # The installed tree is relocatable: the path is relative to the file.
  set(printers "${CMAKE_INSTALL_DATADIR}/kiln/debug")
  file(RELATIVE_PATH KILN_DEBUG_FOLDER "/${CMAKE_INSTALL_LIBDIR}" "/${printers}")
  configure_file("${PROJECT_SOURCE_DIR}/tools/debug/libkiln-gdb.py.in" "${PROJECT_BINARY_DIR}/kiln-debug/installed.py" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/kiln-debug/installed.py" DESTINATION "${CMAKE_INSTALL_LIBDIR}" RENAME "${gdb_file}")
  foreach(file kiln_values kiln_gdb kiln_lldb)
    install(FILES "${PROJECT_SOURCE_DIR}/tools/debug/${file}.py" DESTINATION "${printers}")
  endforeach()
endif()
