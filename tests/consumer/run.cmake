# Builds and runs one outside project from nothing. The ways that need an installed ashlar install it
# first, as a user would, into a folder of their own.
cmake_minimum_required(VERSION 3.21)
set(HERE ${CMAKE_CURRENT_LIST_DIR})
file(REMOVE_RECURSE ${BUILD})
file(MAKE_DIRECTORY ${BUILD})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  message("${output}")
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "failed: ${ARGN}")
  endif()
endfunction()

set(options -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
            -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})

if(WAY MATCHES "find_package|pkg_config")
  run(${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD}/ashlar ${options} -DASHLAR_BUILD_TESTS=OFF
      -DASHLAR_BUILD_BENCH=OFF -DASHLAR_BUILD_EXAMPLES=OFF -DCMAKE_INSTALL_PREFIX=${BUILD}/prefix)
  run(${CMAKE_COMMAND} --build ${BUILD}/ashlar --target install)
  # An install serves any architecture: headers and text only.
  file(GLOB_RECURSE installed RELATIVE ${BUILD}/prefix ${BUILD}/prefix/*)
  foreach(file IN LISTS installed)
    if(NOT file MATCHES "^(include/ashlar/.*\\.(hpp|cuh)|share/(cmake/ashlar|pkgconfig)/.*)$")
      message(FATAL_ERROR "install puts down ${file}")
    endif()
  endforeach()
endif()

if(WAY STREQUAL "plain")
  run(${COMPILER} -std=c++20 -I${SOURCE}/include ${HERE}/core_only.cpp -o ${BUILD}/core_only)
  run(${BUILD}/core_only)
elseif(WAY STREQUAL "pkg_config")
  set(ENV{PKG_CONFIG_PATH} ${BUILD}/prefix/share/pkgconfig)
  execute_process(COMMAND ${PKG_CONFIG} --cflags ashlar OUTPUT_VARIABLE flags RESULT_VARIABLE code
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT flags STREQUAL "-I${BUILD}/prefix/include")
    message(FATAL_ERROR "pkg-config --cflags ashlar: ${code}, '${flags}'")
  endif()
  run(${COMPILER} -std=c++20 ${flags} ${HERE}/core_only.cpp -o ${BUILD}/core_only)
  run(${BUILD}/core_only)
else()
  run(${CMAKE_COMMAND} -S ${HERE}/${WAY} -B ${BUILD}/user ${options} -DASHLAR_SOURCE=${SOURCE}
      -DCMAKE_PREFIX_PATH=${BUILD}/prefix -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)
  file(READ ${BUILD}/user/compile_commands.json commands)
  if(commands MATCHES " (-([mWO]|D[^U]|ff)[^ ]*)")
    message(FATAL_ERROR "a flag leaks to the user: ${CMAKE_MATCH_1}")
  endif()
  run(${CMAKE_COMMAND} --build ${BUILD}/user)
  run(${BUILD}/user/user)
endif()
