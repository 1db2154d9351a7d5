// Macros that real headers define (windows.h, termbits.h, complex.h) before ours
// come. The standard library and third parties are included first: their macros are their affair.
#include <bits/stdc++.h>
#if __has_include(<xsimd/xsimd.hpp>)
#  include <xsimd/xsimd.hpp>
#endif
#if __has_include(<Eigen/Core>)
#  include <Eigen/Core>
#endif
#if defined(_OPENMP)
#  include <omp.h>
#endif
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define near
#define far
#define small char
#define interface struct
#define I hostile macro
#define B0 hostile macro
#define ERROR hostile macro
#define IN
#define OUT
#define CONST const
#define VOID void
#define TRUE 1
#define FALSE 0
#define DELETE hostile macro

#include "all_headers.hpp"
