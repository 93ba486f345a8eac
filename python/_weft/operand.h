// Operands of a call: Python objects looked at where they lie, or first turned into some that can be.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "python/_weft/compressed.h"
#include "python/_weft/dense.h"
#include "python/_weft/python.h"

namespace weft_python {

enum class Kind : std::uint8_t { other, number, dense, csr, csc, bsr, dia, coo, tensor };

/// One of scipy's that is read in place.
constexpr bool is_matrix(Kind kind) { return kind >= Kind::csr && kind <= Kind::coo; }

/// One operand while a call lasts.
struct Operand {
  Kind kind = Kind::other;
  Ref object;             ///< the user's, or what it was turned into
  DenseView dense;        ///< of an array
  CompressedView matrix;  ///< of one of scipy's
  CompressedArrays arrays;
  double number = 0;
  bool single = false;  ///< of a number: beside operands that are all of f4, so that it is too
  bool matrix_class = false;  ///< one of scipy's matrices, not arrays

  int order() const;
  std::uint64_t extent(std::uint32_t mode) const;
};

/// What objects of this one's type are; asked of the package once per type.
Kind kind_of(PyObject* object, bool* matrix_class = nullptr);

/// Reads an operand; what cannot be read in place is adapted by the package. False with an error set.
bool read_operand(const char* name, PyObject* object, Operand& operand);

/// Numbers have no type of their own: they are f4 where all other operands are, and there are others.
void settle_numbers(std::vector<Operand>& operands);

/// Writes a number to a place of 8 bytes, as what it is beside the other operands, with a view of it. False with an
/// error set where it would become infinite.
bool write_number(const char* name, const Operand& operand, double& place, DenseView& view);

/// Appends what plans depend on: kind, type, shape, format, and the number of entries to a power of two.
void append_signature(std::string& key, const Operand& operand);

/// _weft.signature(prefix, operands) -> (bytes, operands): the prefix, the names and what plans depend on; objects that
/// had to be adapted are replaced, in a new dict.
PyObject* signature(PyObject* module, PyObject* arguments);

}  // namespace weft_python
