// Absent entries as the verifier knows them, for lowering and code generation.
#pragma once

#include <vector>

#include "engine/loop/program.h"

namespace weft::loop {

/// Whether some read of a workspace of order 0 may find it absent where absent is not as good as zero: code then has to
/// remember if anything was accumulated. False for all other storages, whose levels know their entries or need not.
/// The Program must satisfy verify.
bool may_be_absent(const Program& program, StorageId workspace);

/// The program with those facts of finite values alone that something rests on: without any one of them the rule of presence would
/// refuse it, or a workspace of order 0 could be found absent that with it cannot. Facts are left out one by one, the last first.
Program with_needed_finite_facts(Program program);

}  // namespace weft::loop
