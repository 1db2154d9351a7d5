#include "all_headers.hpp"

int version_in_other_object();
int version_in_other_object() { return ASHLAR_VERSION_MINOR; }
