// What is bound to a tensor, matrix or array that dies lets go of it at once, and of all that was made from it:
// layouts, sorted copies, statistics. Under the GIL.
#pragma once

#include "python/_weft/python.h"

namespace weft_python {

class BoundOperand;

/// From now on the operand holds what the key stands for; it is told when that dies.
void hold(const void* key, BoundOperand* operand);
/// It holds it no longer.
void release_hold(const void* key, BoundOperand* operand);
/// What the key stands for dies: all who hold it let go.
void let_go_of(const void* key);

/// A weak reference whose end is told: by `told(weak reference)`. NULL with an error set.
Ref watch(PyObject* object, void (*told)(const void* weak));

/// In the child of a fork: nothing of the parent is told any more.
void forget_holders();

}  // namespace weft_python
