# The functions by which the rooms declare their tests.
#
# Each test runs in a separate folder (build/tests/run/NAME) with a disk cache in it, so that tests can run in
# parallel and every run starts alike.

# kiln_test(NAME [SOURCES files...] [LABELS labels...] [SERIAL])
#
# One test program, which is one test: NAME.cpp, or the given files. SERIAL: measures time, runs alone.
function(kiln_test name)
  cmake_parse_arguments(arg "SERIAL" "" "SOURCES;LABELS" ${ARGN})
  if(NOT arg_SOURCES)
    set(arg_SOURCES ${name}.cpp)
  endif()
  kiln_test_program(${name} ${arg_SOURCES})
  target_precompile_headers(${name} REUSE_FROM kiln_test_headers)
  kiln_test_run(${name} LABELS ${arg_LABELS} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES RUN_SERIAL "${arg_SERIAL}")
endfunction()

# kiln_test_program(NAME files...): a program build/tests/NAME, whose tests kiln_test_run declares.
function(kiln_test_program name)
  add_executable(${name} ${ARGN} $<TARGET_OBJECTS:kiln_test_main>)
  target_link_libraries(${name} PRIVATE kiln_test_support)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
endfunction()

# kiln_test_run(NAME COMMAND command... [LABELS labels...] [ENVIRONMENT variables...] [TIMEOUT seconds]
# [SHARED])
#
# One test, in the environment of all tests. SHARED: such tests call the same operators and share one kernel
# cache; the first of them to need a kernel compiles it for all.
function(kiln_test_run name)
  cmake_parse_arguments(arg "SHARED" "TIMEOUT" "COMMAND;LABELS;ENVIRONMENT" ${ARGN})
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${PROJECT_BINARY_DIR}/tests/run/${name}")
  kiln_test_environment(${name})
  if(arg_SHARED)
    kiln_share_kernels(${name})
  endif()
  if(arg_ENVIRONMENT)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT ${arg_ENVIRONMENT})
  endif()
  if(arg_TIMEOUT)
    set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT})
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
endfunction()

# The environment of all tests. They compare GPUs with the CPU; tests of tensor cores choose another precision. Kernels are tuned
# for one machine, whichever runs them: which of them there are, and what they contain, is tested.
function(kiln_test_environment name)
  set(home "${PROJECT_BINARY_DIR}/tests/run/${name}")
  file(MAKE_DIRECTORY "${home}")
  set_property(
    TEST ${name} APPEND PROPERTY ENVIRONMENT "XDG_CACHE_HOME=${home}/cache" "KILN_CACHE_DIR=" "KILN_DUMP=" "KILN_LOG="
                                 "KILN_PTX_STRICT_EXIT=1" "KILN_PRECISION=exact" "KILN_GENERIC=off" "KILN_PRECOMPILED=off" "KILN_MACHINE=l1=48K/12,l2=1M/16" "UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1")
  set_tests_properties(${name} PROPERTIES TIMEOUT 600)
  if("thread" IN_LIST KILN_SANITIZE)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
      "TSAN_OPTIONS=halt_on_error=1:die_after_fork=0:suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp")
  endif()
endfunction()

# These tests call the same operators: see SHARED above.
function(kiln_share_kernels)
  foreach(test ${ARGN})
    get_property(environment TEST ${test} PROPERTY ENVIRONMENT)
    list(TRANSFORM environment REPLACE "^XDG_CACHE_HOME=.*" "XDG_CACHE_HOME=${PROJECT_BINARY_DIR}/tests/run/shared/cache")
    set_property(TEST ${test} PROPERTY ENVIRONMENT "${environment}")
  endforeach()
endfunction()

# kiln_lit(SUITE rooms...): the text tests of the rooms. lit runs the files, FileCheck compares.
function(kiln_lit suite)
  set(folders "")
  foreach(room ${ARGN})
    set(folder "${PROJECT_BINARY_DIR}/tests/${room}")
    configure_file("${PROJECT_SOURCE_DIR}/tests/support/lit.site.cfg.py.in" "${folder}/lit.site.cfg.py.in" @ONLY)
    file(GENERATE OUTPUT "${folder}/lit.site.cfg.py" INPUT "${folder}/lit.site.cfg.py.in")
    list(APPEND folders "${folder}")
  endforeach()
  add_test(NAME lit_${suite} COMMAND Python3::Interpreter "${LLVM_TOOLS_BINARY_DIR}/lit" -v --allow-empty-runs ${folders})
  kiln_test_environment(lit_${suite})
  set_tests_properties(lit_${suite} PROPERTIES LABELS ${suite})
endfunction()
