# What our own tests, benchmarks and examples are built with. None of it reaches a user.
find_program(ASHLAR_CCACHE ccache)
if(PROJECT_IS_TOP_LEVEL AND ASHLAR_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ASHLAR_CCACHE})
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# Errors where tests are built; whoever builds programs only is not stopped by what another compiler
# warns of.
set(ashlar_warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
if(ASHLAR_BUILD_TESTS)
  list(APPEND ashlar_warnings -Werror)
endif()

# The flags of each instruction set that a test may be built for.
set(ashlar_isa_sse2 -march=x86-64)
set(ashlar_isa_avx2 -mavx2 -mfma -mf16c)
set(ashlar_isa_avx512 -march=skylake-avx512)
set(ashlar_isa_native -march=native)
set(ashlar_isa_host "")  # not x86: what the compiler takes by itself

# ashlar_cpu_runs(VAR ISA): whether this machine can run such a build.
include(CheckCXXSourceRuns)
function(ashlar_cpu_runs result isa)
  set(avx2 avx2 fma)  # f16c came before avx2; clang 14 has no name for it
  set(avx512 ${avx2} avx512f avx512bw avx512cd avx512dq avx512vl)
  set(tests "true")
  foreach(feature IN LISTS ${isa})
    string(APPEND tests " && __builtin_cpu_supports(\"${feature}\")")
  endforeach()
  check_cxx_source_runs("int main() { return (${tests}) ? 0 : 1; }" ASHLAR_CPU_RUNS_${isa})
  set(${result} "${ASHLAR_CPU_RUNS_${isa}}" PARENT_SCOPE)
endfunction()

# Warnings, and every component that is there.
function(ashlar_own target)
  target_compile_options(${target} PRIVATE ${ashlar_warnings})
  target_link_libraries(${target} PRIVATE ashlar::ashlar)
  foreach(component IN LISTS ashlar_components)
    if(TARGET ashlar::${component})
      target_link_libraries(${target} PRIVATE ashlar::${component})
    endif()
  endforeach()
endfunction()

# A program rather than a test: for this machine if asked, else the best set tests are run with.
function(ashlar_own_program target)
  ashlar_own(${target})
  if(ASHLAR_NATIVE)
    target_compile_options(${target} PRIVATE -march=native)
  else()
    target_compile_options(${target} PRIVATE ${ashlar_isa_${ashlar_best_isa}})
  endif()
endfunction()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  ashlar_cpu_runs(has_avx2 avx2)
  if(has_avx2)
    set(ashlar_best_isa avx2)
  else()
    set(ashlar_best_isa sse2)
  endif()
else()
  set(ashlar_best_isa host)
endif()
