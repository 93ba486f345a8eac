! A host in Fortran: columns first, indices from 1 made to begin at 0. Ends with a message and status 1 if anything is wrong.
program fortran_host
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int32_t), parameter :: ok = 0, input = 2, f64 = 0, borrow = 1

  interface
    function weft_engine_create(options, made, error) bind(c) result(kind)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: options
      type(c_ptr), intent(out) :: made, error
      integer(c_int32_t) :: kind
    end function
    function weft_session_create(engine, made, error) bind(c) result(kind)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: engine
      type(c_ptr), intent(out) :: made, error
      integer(c_int32_t) :: kind
    end function
    function weft_session_set(session, name, tensor, error) bind(c) result(kind)
      import :: c_ptr, c_int32_t, c_char
      type(c_ptr), value :: session, tensor
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), intent(out) :: error
      integer(c_int32_t) :: kind
    end function
    function weft_tensor_dense(engine, scalar, order, extents, strides, values, flags, made, error) bind(c) result(kind)
      import :: c_ptr, c_int32_t, c_int64_t, c_double
      type(c_ptr), value :: engine
      integer(c_int32_t), value :: scalar, order, flags
      integer(c_int64_t), intent(in) :: extents(*), strides(*)
      real(c_double), intent(in) :: values(*)
      type(c_ptr), intent(out) :: made, error
      integer(c_int32_t) :: kind
    end function
    function weft_tensor_coo(engine, scalar, order, extents, nnz, bits, crd, values, flags, made, error) bind(c) result(kind)
      import :: c_ptr, c_int32_t, c_int64_t, c_double
      type(c_ptr), value :: engine
      integer(c_int32_t), value :: scalar, order, bits, flags
      integer(c_int64_t), value :: nnz
      integer(c_int64_t), intent(in) :: extents(*)
      type(c_ptr), intent(in) :: crd(*)
      real(c_double), intent(in) :: values(*)
      type(c_ptr), intent(out) :: made, error
      integer(c_int32_t) :: kind
    end function
    function weft_session_evaluate(session, expression, count, operands, request, made, error) bind(c) result(kind)
      import :: c_ptr, c_int32_t, c_int64_t, c_char
      type(c_ptr), value :: session, operands, request
      character(kind=c_char), intent(in) :: expression(*)
      integer(c_int64_t), value :: count
      type(c_ptr), intent(out) :: made, error
      integer(c_int32_t) :: kind
    end function
    function weft_evaluation_result(evaluation, name, made, error) bind(c) result(kind)
      import :: c_ptr, c_int32_t, c_char
      type(c_ptr), value :: evaluation
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), intent(out) :: made, error
      integer(c_int32_t) :: kind
    end function
    function weft_tensor_to_dense(engine, tensor, values, count, strides, error) bind(c) result(kind)
      import :: c_ptr, c_int32_t, c_int64_t, c_double
      type(c_ptr), value :: engine, tensor
      real(c_double), intent(inout) :: values(*)
      integer(c_int64_t), value :: count
      integer(c_int64_t), intent(in) :: strides(*)
      type(c_ptr), intent(out) :: error
      integer(c_int32_t) :: kind
    end function
    subroutine weft_error_free(error) bind(c)
      import :: c_ptr
      type(c_ptr), value :: error
    end subroutine
    subroutine weft_tensor_free(tensor) bind(c)
      import :: c_ptr
      type(c_ptr), value :: tensor
    end subroutine
    subroutine weft_evaluation_free(evaluation) bind(c)
      import :: c_ptr
      type(c_ptr), value :: evaluation
    end subroutine
    subroutine weft_session_free(session) bind(c)
      import :: c_ptr
      type(c_ptr), value :: session
    end subroutine
    subroutine weft_engine_free(engine) bind(c)
      import :: c_ptr
      type(c_ptr), value :: engine
    end subroutine
  end interface

  type(c_ptr) :: engine, session, t, b, a, evaluation, error
  integer(c_int64_t), target :: i(4) = [1, 2, 2, 1], j(4) = [3, 1, 1, 2]
  real(c_double) :: entries(4) = [10, 1, 2, 5], columns(3, 2), product(2, 2), expected(2, 2)

  columns = reshape([1, 2, 3, 100, 200, 300], [3, 2])
  expected = reshape([40, 3, 4000, 300], [2, 2])
  product = -1
  i = i - 1
  j = j - 1
  call check(weft_engine_create(c_null_ptr, engine, error), 'engine')
  call check(weft_session_create(engine, session, error), 'session')
  call check(weft_tensor_coo(engine, f64, 2, [2_c_int64_t, 3_c_int64_t], 4_c_int64_t, 64, [c_loc(i), c_loc(j)], entries, 0, t, error), 't')
  call check(weft_tensor_dense(engine, f64, 2, [3_c_int64_t, 2_c_int64_t], [1_c_int64_t, 3_c_int64_t], columns, borrow, b, error), 'b')
  call check(weft_session_set(session, 'T'//c_null_char, t, error), 'set T')
  call check(weft_session_set(session, 'B'//c_null_char, b, error), 'set B')
  call check(weft_session_evaluate(session, 'A(i,r) = T(i,j) * B(j,r)'//c_null_char, 0_c_int64_t, c_null_ptr, c_null_ptr, &
                                   evaluation, error), 'evaluate')
  call check(weft_evaluation_result(evaluation, 'A'//c_null_char, a, error), 'result')
  call check(weft_tensor_to_dense(engine, a, product, 4_c_int64_t, [1_c_int64_t, 2_c_int64_t], error), 'dense')
  if (any(product /= expected)) call stop_with('the product is wrong')
  call weft_tensor_free(a)
  call weft_evaluation_free(evaluation)
  if (weft_evaluation_result(c_null_ptr, 'A'//c_null_char, a, error) /= input) call stop_with('NULL is no error')
  call weft_error_free(error)
  call weft_session_free(session)
  call weft_tensor_free(t)
  call weft_tensor_free(b)
  call weft_engine_free(engine)

contains
  subroutine check(kind, what)
    integer(c_int32_t), intent(in) :: kind
    character(*), intent(in) :: what
    if (kind /= ok) call stop_with(what)
  end subroutine
  subroutine stop_with(what)
    character(*), intent(in) :: what
    write (*, *) what
    error stop
  end subroutine
end program
