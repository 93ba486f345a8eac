#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#ifdef WEFT_WITHOUT_TBB
// ThreadSanitizer otherwise ends the child of a fork that starts threads, which a child may.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }
#endif
