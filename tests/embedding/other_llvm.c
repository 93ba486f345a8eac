/* other_llvm before|after PLUGIN LLVM...: loads a plugin that links weft, and other LLVMs for all to see, in either order. Results stay right, and
 * weft does not talk to the debugger through the other LLVM's list of code. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void* opened(const char* path, int flags) {
  void* library = dlopen(path, RTLD_NOW | flags);
  if (!library) fprintf(stderr, "%s\n", dlerror());
  return library;
}

/* As gdb's manual lays it down; the first two members do not matter here. */
struct debug_descriptor {
  uint32_t version, action_flag;
  void *relevant_entry, *first_entry;
};

int main(int arguments, char** argument) {
  int other, failed = 0;
  int before;
  void* plugin;
  int (*evaluate)(int) = NULL;
  if (arguments < 4) return 2;
  before = strcmp(argument[1], "before") == 0;
  if (!before) {
    plugin = opened(argument[2], RTLD_LOCAL);
    if (!plugin) return 1;
    *(void**)&evaluate = dlsym(plugin, "plugin_evaluate");
    failed = evaluate(2);
  }
  for (other = 3; other < arguments; ++other) {
    if (!opened(argument[other], RTLD_GLOBAL)) return 1;
  }
  plugin = opened(argument[2], RTLD_GLOBAL);
  if (!plugin) return 1;
  *(void**)&evaluate = dlsym(plugin, "plugin_evaluate");
  failed = failed || evaluate(3) || evaluate(4);
  for (other = 3; other < arguments; ++other) {
    void* library = opened(argument[other], RTLD_GLOBAL);
    const struct debug_descriptor* descriptor = dlsym(library, "__jit_debug_descriptor");
    if (!descriptor) {
      fprintf(stderr, "%s has no list of code for debuggers\n", argument[other]);
      failed = 1;
    } else if (descriptor->first_entry || descriptor->relevant_entry) {
      fprintf(stderr, "weft's code stands in the list of %s\n", argument[other]);
      failed = 1;
    }
  }
  return failed;
}
