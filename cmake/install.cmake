# Headers, package config and pkg-config file. Nothing depends on the architecture.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/ashlar)

install(TARGETS ashlar EXPORT ashlarTargets)
install(DIRECTORY include/ashlar DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT ashlarTargets NAMESPACE ashlar:: DESTINATION ${package_dir})
write_basic_package_version_file(ashlarConfigVersion.cmake COMPATIBILITY SameMinorVersion
                                 ARCH_INDEPENDENT)
configure_package_config_file(cmake/ashlarConfig.cmake.in ashlarConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ashlarConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/ashlarConfigVersion.cmake cmake/ashlarComponents.cmake
        DESTINATION ${package_dir})
configure_file(cmake/ashlar.pc.in ashlar.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ashlar.pc DESTINATION ${CMAKE_INSTALL_DATADIR}/pkgconfig)
