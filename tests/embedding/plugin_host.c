/* plugin_host PLUGIN: loads a plugin that links weft, out of sight of all others, uses it and closes it; several times. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

int main(int arguments, char** argument) {
  int round;
  if (arguments != 2) return 2;
  for (round = 1; round <= 3; ++round) {
    const struct timespec moment = {0, 20000000};
    int failed;
    int (*evaluate)(int) = NULL;
    void* plugin = dlopen(argument[1], RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    *(void**)&evaluate = dlsym(plugin, "plugin_evaluate");
    failed = evaluate(round);
    if (dlsym(RTLD_DEFAULT, "weft_engine_create")) {
      fprintf(stderr, "the plugin's weft can be seen by all\n");
      failed = 1;
    }
    if (failed || dlclose(plugin) != 0) return 1;
    /* Whatever still ran in there would now run into unmapped code. */
    nanosleep(&moment, NULL);
  }
  return 0;
}
