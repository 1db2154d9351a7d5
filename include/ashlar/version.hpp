// The version, and nothing else. CMake reads it from here.
#pragma once

#define ASHLAR_VERSION_MAJOR 0
#define ASHLAR_VERSION_MINOR 1
#define ASHLAR_VERSION_PATCH 0
