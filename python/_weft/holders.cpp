#include "python/_weft/holders.h"

#include <unordered_map>
#include <unordered_set>

#include "python/_weft/bound_operand.h"
#include "python/_weft/object.h"

namespace weft_python {
namespace {

using Operands = std::unordered_set<BoundOperand*>;
using Told = void (*)(const void*);

// Never destroyed: objects die until the very end.
std::unordered_map<const void*, Operands>* all_holders = nullptr;
std::unordered_map<const void*, Operands>& holders() {
  if (!all_holders) all_holders = new std::unordered_map<const void*, Operands>;
  return *all_holders;
}

/// The callback of a weak reference; a capsule holds whom it tells.
PyObject* died(PyObject* capsule, PyObject* weak) {
  return guarded([&] {
    const auto told = reinterpret_cast<Told>(PyCapsule_GetPointer(capsule, nullptr));
    if (told) told(weak);
    return none();
  });
}
PyMethodDef died_method = {"died", died, METH_O, nullptr};

}  // namespace

void hold(const void* key, BoundOperand* operand) { holders()[key].insert(operand); }

void release_hold(const void* key, BoundOperand* operand) {
  const auto found = holders().find(key);
  if (found == holders().end()) return;
  found->second.erase(operand);
  if (found->second.empty()) holders().erase(found);
}

void let_go_of(const void* key) {
  const auto found = holders().find(key);
  if (found == holders().end()) return;
  const Operands operands = std::move(found->second);
  holders().erase(found);
  for (BoundOperand* const operand : operands) operand->let_go();
}

Ref watch(PyObject* object, void (*told)(const void* weak)) {
  // One of each kind, kept.
  static auto* const callbacks = new std::unordered_map<Told, PyObject*>;
  PyObject*& callback = (*callbacks)[told];
  if (!callback) {
    const Ref capsule = Ref::taken(PyCapsule_New(reinterpret_cast<void*>(told), nullptr, nullptr));
    callback = capsule ? PyCFunction_New(&died_method, capsule.get()) : nullptr;
  }
  return callback ? Ref::taken(PyWeakref_NewRef(object, callback)) : Ref();
}

void forget_holders() { all_holders = nullptr; }

}  // namespace weft_python
