// Links only if every function and variable of every header is inline or a template.
#include "all_headers.hpp"

int version_in_other_object();

int main() { return version_in_other_object() == ASHLAR_VERSION_MINOR ? 0 : 1; }
