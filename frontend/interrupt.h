// Signals: Ctrl-C asks for cancellation, and ends the process if that is not heard; others end it, and no temporary file stays.
#pragma once

#include "weft/memory.h"

namespace weft {

/// SIGHUP, SIGQUIT, SIGPIPE and SIGXCPU end the process as they do by default (ignored ones stay ignored), after removing the
/// temporary files that it is writing; SIGXFSZ becomes an error of what writes. Only the command calls it, never the library.
void end_without_leftovers();

/// SIGINT and SIGTERM set `cancellation`; a second signal, or 0.8 s without an end, exits with status 130 at once
/// (temporary files are removed, and nothing partial has its final name). Once per process; only the
/// command calls it, never the library.
void cancel_on_interrupt(const Cancellation& cancellation);

/// The same for a process that goes on afterwards: SIGINT sets the cancellation that was given last, and only another
/// one, a second or more later and the first not heard yet, exits. SIGTERM ends as above. From one thread.
void cancel_on_interrupt_and_go_on(const Cancellation& cancellation);

/// While a line is edited: a signal that ends the process first gives the terminal of standard input the modes it had when this was
/// made, and asks it no longer to mark pasted text. One at a time.
class ModesOfTerminal {
 public:
  ModesOfTerminal();
  ~ModesOfTerminal();
  ModesOfTerminal(const ModesOfTerminal&) = delete;
  ModesOfTerminal& operator=(const ModesOfTerminal&) = delete;
};

}  // namespace weft
