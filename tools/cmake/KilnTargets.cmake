# Rules shared by all folders: a layer, and the library of all layers.
include(GNUInstallDirs)

# Flags of Kiln's own build; none is a usage requirement.
add_library(kiln_flags INTERFACE)
target_compile_features(kiln_flags INTERFACE cxx_std_20)
target_compile_options(kiln_flags INTERFACE -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers
                                            -fvisibility=hidden -fvisibility-inlines-hidden)
# GCC 12 sees overlapping copies in `"text" + std::string` where there are none (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(kiln_flags INTERFACE -Wno-restrict)
endif()
# GCC takes every file that a unity build includes for a header, whose classes need linkage.
if(KILN_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(kiln_flags INTERFACE -Wno-subobject-linkage)
endif()
# GCC collects its garbage each time its heap has doubled, from 128 MB on: a sixth of the time of a unit. Without most
# collections the largest units take 2.5 GB.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(kiln_flags INTERFACE --param=ggc-min-heapsize=1000000)
endif()
if(KILN_WERROR)
  target_compile_options(kiln_flags INTERFACE -Werror)
endif()
foreach(sanitizer IN LISTS KILN_SANITIZE)
  target_compile_options(kiln_flags INTERFACE -fsanitize=${sanitizer} -fno-omit-frame-pointer)
  target_link_options(kiln_flags INTERFACE -fsanitize=${sanitizer})
  string(TOUPPER ${sanitizer} upper)
  target_compile_definitions(kiln_flags INTERFACE KILN_SANITIZE_${upper}=1)
endforeach()
# With sanitizers GCC loses track of initialized variables, as its manual says: it warns of LLVM's small maps.
if(KILN_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(kiln_flags INTERFACE -Wno-maybe-uninitialized)
endif()
target_include_directories(
  kiln_flags INTERFACE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/runtime/include"
                       "${PROJECT_SOURCE_DIR}/frontend/include")
target_include_directories(kiln_flags SYSTEM INTERFACE "${PROJECT_BINARY_DIR}")  # generated headers

set_property(GLOBAL PROPERTY kiln_layers "")

# Optimization of code whose time is small beside the work that it begins, as compiling a kernel or reading a file: -O3 takes half
# as long again to compile, for no gain.
set(kiln_cold_options $<$<CONFIG:Release>:-O1>)

# kiln_layer(NAME [MLIR] [COLD] [UNIT n] SOURCES files... [ALONE files...]): the sources of one folder, compiled once. MLIR: they
# may include LLVM's and MLIR's headers. COLD: they are compiled with -O1. UNIT: the number of files that are compiled together, 32
# by default: templates that several files use are instantiated once. ALONE: sources that are compiled each by itself.
function(kiln_layer name)
  cmake_parse_arguments(arg "MLIR;COLD" "UNIT" "SOURCES;ALONE" ${ARGN})
  if(NOT arg_UNIT)
    set(arg_UNIT 32)
  endif()
  add_library(kiln_${name} OBJECT ${arg_SOURCES} ${arg_ALONE})
  set_target_properties(kiln_${name} PROPERTIES UNITY_BUILD "${KILN_UNITY}" UNITY_BUILD_BATCH_SIZE ${arg_UNIT})
  set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set_target_properties(kiln_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  # As Clang does by default: nobody replaces functions of Kiln by others, so GCC may inline them where they are visible.
  target_compile_options(kiln_${name} PRIVATE -fno-semantic-interposition)
  target_link_libraries(kiln_${name} PRIVATE kiln_flags fmt::fmt nlohmann_json::nlohmann_json TBB::tbb ZLIB::ZLIB)
  add_dependencies(kiln_${name} kiln_ods)  # generated headers
  if(arg_MLIR OR arg_COLD)
    target_compile_options(kiln_${name} PRIVATE ${kiln_cold_options})
  endif()
  if(arg_MLIR)
    target_include_directories(kiln_${name} SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  endif()
  set_property(GLOBAL APPEND PROPERTY kiln_layers kiln_${name})
endfunction()

# The objects of all layers become part of a target, with what they need. LLVM and MLIR are linked privately.
function(kiln_link_layers target)
  get_property(layers GLOBAL PROPERTY kiln_layers)
  foreach(layer IN LISTS layers)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${layer}>)
  endforeach()
  target_link_libraries(${target} PRIVATE MLIR LLVM fmt::fmt nlohmann_json::nlohmann_json TBB::tbb ZLIB::ZLIB)
  # Why: ir/trait_names.cpp
  target_link_options(
    ${target} PRIVATE -Wl,--wrap=_ZN4mlir6detail22FallbackTypeIDResolver22registerImplicitTypeIDEN4llvm9StringRefE)
endfunction()

# The shared library kiln::kiln, from all layers, which users see without LLVM and MLIR.
function(kiln_library)
  add_library(kiln SHARED)
  add_library(kiln::kiln ALIAS kiln)
  kiln_link_layers(kiln)
  target_link_options(kiln PRIVATE -Wl,--no-undefined)
  if(KILN_SANITIZE)
    string(REPLACE ";" "," sanitizers "${KILN_SANITIZE}")
    target_link_options(kiln PUBLIC -fsanitize=${sanitizers} PRIVATE -Wl,-z,undefs)
  endif()
  target_compile_features(kiln PUBLIC cxx_std_20)
  target_include_directories(
    kiln PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/frontend/include>
                $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/runtime/include> $<INSTALL_INTERFACE:include>)
  set_target_properties(kiln PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                                        LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
endfunction()

# kiln_tool(TARGET): a program over the library, which does the work: its files share one parse of their headers.
function(kiln_tool target)
  target_link_libraries(${target} PRIVATE kiln::kiln kiln_flags)
  target_compile_options(${target} PRIVATE ${kiln_cold_options})
  set_target_properties(${target} PROPERTIES UNITY_BUILD "${KILN_UNITY}" UNITY_BUILD_BATCH_SIZE 0)
endfunction()
