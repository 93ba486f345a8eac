// Faults in the system calls of the cache: the binary is linked with --wrap, so every call it makes can fail, do half its
// work, or be the last one of the process.
#pragma once

namespace faults {

enum class Fault {
  fails,        ///< does nothing and returns the error
  half,         ///< write and read do half of what was asked, without an error; other calls are as usual
  half_fails,   ///< as half, and the next call fails
  dies_before,  ///< the process is killed (SIGKILL) instead
  dies_after,
  dies_halfway  ///< after half of what a write was to write; other calls: before
};

/// Of the thread that calls: its system calls number `call` (from 0) and on are counted; that one is at fault.
void inject(int call, Fault fault, int error = 0);
/// No fault any more; tells how many calls there were since inject.
int stop();

}  // namespace faults
