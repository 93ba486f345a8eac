// What the verifier knows about absent entries, for whoever makes code.
#pragma once

#include "engine/loop/program.h"

namespace weft::loop {

/// Whether some read of a workspace of order 0 may find it absent where absent is not as good as zero: code then has to
/// remember if anything was accumulated. False for all other storages, whose levels know their entries or need not.
/// The Program must satisfy verify.
bool may_be_absent(const Program& program, StorageId workspace);

}  // namespace weft::loop
