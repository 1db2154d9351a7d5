# Components are targets made on the user's machine from what is found there, so that one install
# serves users with and without xsimd, Eigen or OpenMP. Used by the build tree and by the installed
# package alike. No component carries an instruction set, a warning or an optimisation flag.
set(ashlar_components simd eigen openmp)

# A target of headers only, with the include folders of `from`. We take the folders and not the
# target: Debian's xsimd target links a library that does not exist.
macro(_ashlar_headers_target name scope from)
  add_library(ashlar::${name} INTERFACE IMPORTED ${scope})
  get_target_property(_ashlar_folders ${from} INTERFACE_INCLUDE_DIRECTORIES)
  target_include_directories(ashlar::${name} SYSTEM INTERFACE ${_ashlar_folders})
  target_link_libraries(ashlar::${name} INTERFACE ashlar::ashlar)
endmacro()

# ashlar_component(NAME SCOPE): makes ashlar::NAME when what it needs is found and sets
# ashlar_NAME_FOUND and, if not, ashlar_NAME_MISSING. SCOPE is GLOBAL in a build tree, where the
# target must be seen outside the folder that makes it, and "" in a package.
# xsimd and Eigen are asked for without a version: their version files refuse newer releases that
# work. The check is made by hand.
macro(ashlar_component name scope)
  set(ashlar_${name}_FOUND FALSE)
  if(TARGET ashlar::${name})
    set(ashlar_${name}_FOUND TRUE)
  elseif("${name}" STREQUAL "simd")
    if(NOT TARGET xsimd)
      find_package(xsimd QUIET CONFIG)
    endif()
    if(TARGET xsimd AND NOT (xsimd_VERSION AND xsimd_VERSION VERSION_LESS 8.1))
      _ashlar_headers_target(simd "${scope}" xsimd)
      set(ashlar_simd_FOUND TRUE)
    else()
      set(ashlar_simd_MISSING "xsimd 8.1 or newer (Debian: libxsimd-dev)")
    endif()
  elseif("${name}" STREQUAL "eigen")
    ashlar_component(simd "${scope}")  # what Eigen has no kernel for falls back to SIMD
    if(NOT TARGET Eigen3::Eigen)
      find_package(Eigen3 QUIET CONFIG)
    endif()
    if(NOT TARGET ashlar::simd)
      set(ashlar_eigen_MISSING "${ashlar_simd_MISSING}")
    elseif(TARGET Eigen3::Eigen AND NOT (Eigen3_VERSION AND Eigen3_VERSION VERSION_LESS 3.4))
      _ashlar_headers_target(eigen "${scope}" Eigen3::Eigen)
      target_link_libraries(ashlar::eigen INTERFACE ashlar::simd)
      set(ashlar_eigen_FOUND TRUE)
    else()
      set(ashlar_eigen_MISSING "Eigen 3.4 or newer (Debian: libeigen3-dev)")
    endif()
  elseif("${name}" STREQUAL "openmp")
    if(NOT TARGET OpenMP::OpenMP_CXX)
      find_package(OpenMP QUIET COMPONENTS CXX)
      if(TARGET OpenMP::OpenMP_CXX AND NOT "${scope}" STREQUAL "")
        set_target_properties(OpenMP::OpenMP_CXX PROPERTIES IMPORTED_GLOBAL TRUE)
      endif()
    endif()
    if(TARGET OpenMP::OpenMP_CXX)
      add_library(ashlar::openmp INTERFACE IMPORTED ${scope})
      target_link_libraries(ashlar::openmp INTERFACE ashlar::ashlar OpenMP::OpenMP_CXX)
      set(ashlar_openmp_FOUND TRUE)
    else()
      set(ashlar_openmp_MISSING "a compiler with OpenMP (Debian with clang: libomp-dev)")
    endif()
  else()
    set(ashlar_${name}_MISSING "a component of ashlar by that name; there are ${ashlar_components}")
  endif()
endmacro()
