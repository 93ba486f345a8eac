/* weft in C: what weft/engine.h and weft/session.h offer in C++, for C99 and whatever calls C (Fortran, Python's
 * ctypes).
 *
 * Errors. A function that can fail returns WEFT_OK or the kind of the error, and takes as last argument where to put
 * an error object: NULL if only the kind matters, else *error becomes NULL or an object to be given to
 * weft_error_free. What a function makes is NULL after an error. A NULL handle, or NULL where something is written to,
 * is an error of kind WEFT_INPUT; functions without an error argument answer NULL with 0 or "". Nothing throws, prints
 * or ends the process. Beyond those named at a function, whatever allocates may fail with WEFT_RESOURCE, and whatever
 * takes an engine with WEFT_CANCELLED.
 *
 * Ownership. Each ..._create, and each function that fills in a handle, makes an object that its caller frees with the
 * ..._free of its type; freeing NULL does nothing. Objects keep alive what they were made from, so the order of freeing
 * does not matter. Texts handed in are copied; texts and arrays handed out belong to the object that they came from.
 *
 * Threads. Engines, kernels, compilations, sessions, tensors and cancellations may be used by several threads at once,
 * and so may bindings by runs; what changes another object, and options, requests and evaluations altogether, by one at
 * a time.
 *
 * Fork. A child may use weft, what it inherited included, if no other thread of its parent was inside weft at that
 * moment, one of weft's own that compiles in the background too; what the parent has started stays with the parent, and
 * engines that ran before compute on one thread in the child.
 *
 * Exit. The end of the process waits for what is compiled in the background, of engines that are never freed too. With
 * the static library free them before main returns: there LLVM's own objects may be destroyed first.
 *
 * Texts are UTF-8 and end in a zero byte. Coordinates, modes, levels and list numbers begin at 0. */
#ifndef WEFT_H
#define WEFT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of errors, also the exit statuses of the command. INPUT: a text, file or argument is wrong. UNSUPPORTED: right,
 * but not yet done. INTERNAL: a defect of weft, the message reproduces it. RESOURCE: a limit, or the memory, is
 * exhausted. CANCELLED: a cancellation was set. */
enum { WEFT_OK = 0, WEFT_INPUT = 2, WEFT_UNSUPPORTED = 3, WEFT_INTERNAL = 4, WEFT_RESOURCE = 5, WEFT_CANCELLED = 130 };

/* Type of values. */
enum { WEFT_F64 = 0, WEFT_F32 = 1 };

/* Flags for tensors made from arrays of the host, to be added. BORROW: the arrays are used in place, and must stay as
 * they are until the tensor, and all that was made from it, is freed; else they are copied. TRUSTED: they are not
 * verified; a defect in them is then undefined behaviour. CHANGES, for weft_bindings_set: the host changes the values
 * of borrowed memory (not the coordinates) between runs. FINITE, for weft_bindings_set: runs do not look for NaN and
 * Inf in it, as weft_request_set_assume_finite says of all runs. */
enum { WEFT_COPY = 0, WEFT_BORROW = 1, WEFT_TRUSTED = 2, WEFT_CHANGES = 4, WEFT_FINITE = 8 };

typedef struct weft_error weft_error;
typedef struct weft_cancellation weft_cancellation;
typedef struct weft_options weft_options;       /* of an engine */
typedef struct weft_engine weft_engine;         /* caches, threads, memory limit */
typedef struct weft_tensor weft_tensor;         /* an immutable value */
typedef struct weft_statistics weft_statistics; /* what is known of a tensor that need not be there */
typedef struct weft_request weft_request;       /* how to evaluate or compile */
typedef struct weft_session weft_session;       /* an engine and named tensors */
typedef struct weft_kernel weft_kernel;         /* compiled code */
typedef struct weft_compilation weft_compilation; /* of a kernel, in the background */
typedef struct weft_bindings weft_bindings;     /* what a kernel runs over */
typedef struct weft_evaluation weft_evaluation; /* results and report */

typedef void (*weft_line_callback)(void* context, const char* line);
typedef void (*weft_progress_callback)(void* context, const char* what, double fraction);
typedef void (*weft_done_callback)(void* context);
typedef void (*weft_task_callback)(void* context, uint64_t task, uint32_t slot);
/* Calls body(state, slot) once for every slot below `slots`, some at once if it can, and returns when all calls have.
 */
typedef void (*weft_loop_callback)(void* context, uint32_t slots, void (*body)(void* state, uint32_t slot),
                                   void* state);

const char* weft_version(void); /* "0.1.0" */

int32_t weft_error_kind(const weft_error* error);
const char* weft_error_message(const weft_error* error); /* names operand, index, file, line; may have several lines */
/* What is wrong, as far as it is told apart; later versions may tell more apart. SYNTAX: a text that cannot be read,
 * at weft_error_position. MISSING_OPERAND, SURPLUS_OPERAND, UNKNOWN_NAME: of weft_error_operand. EXTENTS_DISAGREE: of
 * weft_error_index. ORDER: another number of modes. OUT_OF_RANGE: a coordinate beyond its extent. SIZES: arrays that
 * are too short, too long, or no arrays. OPTION: one that cannot be, or two that contradict each other,
 * weft_error_option. MEMORY_LIMIT: no room for what was planned or asked. OUT_OF_MEMORY: an allocation failed.
 * PATTERN_CHANGED: weft_error_operand has another pattern than the one that memory for a result was made for.
 * INVALID_TENSOR: arrays that are none: positions that fall, coordinates that repeat. FILE: cannot be read, or is not
 * what it promises; what is wrong in a line of a text is SYNTAX, or OUT_OF_RANGE, with the line. */
enum {
  WEFT_CODE_OTHER = 0,
  WEFT_CODE_SYNTAX = 1,
  WEFT_CODE_MISSING_OPERAND = 2,
  WEFT_CODE_SURPLUS_OPERAND = 3,
  WEFT_CODE_UNKNOWN_NAME = 4,
  WEFT_CODE_EXTENTS_DISAGREE = 5,
  WEFT_CODE_ORDER = 6,
  WEFT_CODE_OUT_OF_RANGE = 7,
  WEFT_CODE_SIZES = 8,
  WEFT_CODE_OPTION = 9,
  WEFT_CODE_MEMORY_LIMIT = 10,
  WEFT_CODE_OUT_OF_MEMORY = 11,
  WEFT_CODE_PATTERN_CHANGED = 12,
  WEFT_CODE_INVALID_TENSOR = 13,
  WEFT_CODE_FILE = 14
};
int32_t weft_error_code(const weft_error* error);
const char* weft_error_operand(const weft_error* error); /* its name, or that of a result; "": not known, as below */
const char* weft_error_index(const weft_error* error);   /* of the expression */
const char* weft_error_option(const weft_error* error);  /* "objective", "formats", as members of CompileOptions */
/* Where in a text: 1, and the offset in bytes, line and column (in bytes, both from 1); 0: not known. Each of them may
 * be NULL. */
int32_t weft_error_position(const weft_error* error, uint64_t* offset, uint64_t* line, uint64_t* column);
void weft_error_free(weft_error* error);

/* ---- cancellation ---- */

int32_t weft_cancellation_create(weft_cancellation** made, weft_error** error);
/* Stops work at its next poll, within some milliseconds. From any thread, also in a signal handler. It stays set. */
void weft_cancellation_cancel(weft_cancellation* cancellation);
int32_t weft_cancellation_cancelled(const weft_cancellation* cancellation); /* 1 or 0 */
void weft_cancellation_free(weft_cancellation* cancellation);

/* ---- engine ---- */

int32_t weft_options_create(weft_options** made, weft_error** error);
/* 0, and the default: all CPUs that the process may use. The workers start at first use. */
int32_t weft_options_set_threads(weft_options* options, uint32_t count, weft_error** error);
/* The threads and the memory account, limit included, of an engine, whatever was set before: the two then share them,
 * and setting threads, a loop of the host or a memory limit is WEFT_INPUT. NULL: its own, as they were set before. */
int32_t weft_options_share(weft_options* options, const weft_engine* engine, weft_error** error);
/* Threads of the host instead, `count` at once; none are started. NULL: threads of weft's own. */
int32_t weft_options_set_thread_loop(weft_options* options, uint32_t count, weft_loop_callback loop, void* context,
                                     weft_error** error);
/* The oneTBB arena that each caller is in, with `count` threads, 0: all CPUs. */
int32_t weft_options_set_caller_arena(weft_options* options, uint32_t count, weft_error** error);
/* In bytes, over everything that is allocated through the engine. Default: none. */
int32_t weft_options_set_memory_limit(weft_options* options, uint64_t bytes, weft_error** error);
/* Where plans and kernels are remembered on disk; "": where the command does; NULL, and the default: in memory only. */
int32_t weft_options_set_cache_directory(weft_options* options, const char* directory, weft_error** error);
/* 1: what the directory gives is made anew and compared; for the suspicious. Default 0. */
int32_t weft_options_set_paranoid(weft_options* options, int32_t paranoid, weft_error** error);
/* Where loops, LLVM IR and assembly of every kernel are written; NULL, and the default: what WEFT_DUMP names, or
 * nowhere. */
int32_t weft_options_set_dump_directory(weft_options* options, const char* directory, weft_error** error);
/* 0: plans and kernels are made anew each time. Default 1. */
int32_t weft_options_set_use_cache(weft_options* options, int32_t use, weft_error** error);
/* Plans, and kernels, that are kept in memory; at least 1. Default 1024. */
int32_t weft_options_set_kernels_in_memory(weft_options* options, uint64_t count, weft_error** error);
/* 1: names of kernels for perf, in /tmp/perf-PID.map; also if WEFT_PERF is set. Default 0. */
int32_t weft_options_set_perf_map(weft_options* options, int32_t perf_map, weft_error** error);
/* 1: results are bit-identical for every number of threads. Default 0. */
int32_t weft_options_set_deterministic(weft_options* options, int32_t deterministic, weft_error** error);
/* 1: the loop nest exactly as printed, without fused multiply-add, every sum in loop order. Default 0. */
int32_t weft_options_set_strict_fp(weft_options* options, int32_t strict, weft_error** error);
/* 1: kernels check every access, and runs whether others of the process use what they write to; slow. Default 0. */
int32_t weft_options_set_checked(weft_options* options, int32_t checked, weft_error** error);
/* Text that `weft calibrate` writes, and the name that errors call it by. */
int32_t weft_options_set_calibration(weft_options* options, const char* text, const char* name, weft_error** error);
/* The text of a file. NULL: of the one that `weft calibrate` writes and the command reads, if it is there. */
int32_t weft_options_set_calibration_file(weft_options* options, const char* path, weft_error** error);
/* Of everything that the engine does. NULL: none. */
int32_t weft_options_set_cancellation(weft_options* options, const weft_cancellation* cancellation, weft_error** error);
/* Called at most some ten times a second while a file is read or written and while planning or a run is long, of each
 * from one thread at a time: what is done ("reading x.tns", "planning", "proving", "computing A"), and the fraction of
 * it. NULL: none. Callbacks must not call weft, and must not throw or jump out. */
int32_t weft_options_set_progress(weft_options* options, weft_progress_callback callback, void* context,
                                  weft_error** error);
/* A line per plan, compile, load and run, from any thread that uses the engine, also from several at once. NULL: none.
 */
int32_t weft_options_set_trace(weft_options* options, weft_line_callback callback, void* context, weft_error** error);
void weft_options_free(weft_options* options);

/* `options` NULL: the defaults. They are copied; changing them later changes nothing. */
int32_t weft_engine_create(const weft_options* options, weft_engine** made, weft_error** error);
uint32_t weft_engine_threads(const weft_engine* engine);
uint64_t weft_engine_memory_used(const weft_engine* engine); /* bytes charged now, and at most so far */
uint64_t weft_engine_memory_peak(const weft_engine* engine);
uint64_t weft_engine_memory_limit(const weft_engine* engine); /* UINT64_MAX: none */
const char* weft_engine_cache_directory(const weft_engine* engine); /* "": none */
/* What the engine has done so far. Kernels, one per loop nest: "memory" found there, "disk" loaded from there,
 * "compiled". Networks by the grade of their code, found or made: "generic", "profiled", "baked". "fallbacks": bindings
 * of which a kernel assumed too much, so that a more general one ran. Plans: "plans_memory", "plans_disk",
 * "plans_made". Compilations answered at once: "known"; others by the part in which they differ from the last of the
 * same text: "missed_text" (new), "missed_options", "missed_operands" (names), and of an operand "missed_format",
 * "missed_extents", "missed_pattern", "missed_values" (finite or not). Operands in other layouts: "layouts_made",
 * "layouts_known" (found with the tensor), "layouts_refilled" (values had changed), "layouts_read_through"
 * (likewise, and read where they are). "idle_bytes" of workspaces that wait for a run. WEFT_INPUT for other names. */
int32_t weft_engine_counter(const weft_engine* engine, const char* name, uint64_t* value, weft_error** error);
/* Calls body(context, task, slot) for every task below `tasks`, in any order, on the threads of the engine, and returns
 * when all are done; `slot`, below their number, is exclusive to one thread at a time. */
int32_t weft_engine_for_each(const weft_engine* engine, uint64_t tasks, weft_task_callback body, void* context,
                             weft_error** error);
/* Gives back what is kept only to be faster next time: kernels known by their text, workspaces that wait for a run, and
 * layouts of operands. What is under way is not touched. */
void weft_engine_give_back(const weft_engine* engine);
/* A handle of the same engine for what concerns tensors: reading, making, converting and writing them with it ends when
 * `cancellation` is set, and tells `progress` of it. Each of the two may be NULL: that of the engine. */
int32_t weft_engine_with(const weft_engine* engine, const weft_cancellation* cancellation,
                         weft_progress_callback progress, void* context, weft_engine** made, weft_error** error);
void weft_engine_free(weft_engine* engine);

/* ---- tensors ----
 * `engine` lends threads, memory account, cancellation and progress. A format is KINDS[:ORDER][:SCALAR] as for
 * --format: "ds" CSR, "ds:1,0" CSC, "sss" CSF, "uqq" coordinates, "dd:f32". */

/* What the command takes as SPEC: a file with an optional shape ("x.tns:10x20"; .tns, .mtx, .npy, also .gz and .zst), a
 * generator ("uniform(20x3,seed=1)", "sparse(20x30,nnz=100)", "ones(3)") or a number. `format` NULL: dense for .npy and
 * generated dense ones, else all levels compressed. Errors: WEFT_INPUT with file and line, WEFT_UNSUPPORTED for complex
 * data. */
int32_t weft_tensor_load(const weft_engine* engine, const char* spec, const char* format, weft_tensor** made,
                         weft_error** error);
/* A file whatever its name; `name` stands for it in messages. `extents` NULL: as large as its entries need, else
 * `order` of them. `scalar` is that of the values if `format` is NULL. `times`, unless NULL: 3 numbers, milliseconds
 * spent decompressing, until all coordinates are in memory (the former included), and building. */
int32_t weft_tensor_read(const weft_engine* engine, const char* path, uint32_t order, const uint64_t* extents,
                         const char* format, int32_t scalar, const char* name, double* times, weft_tensor** made,
                         weft_error** error);
/* Dense memory of the host. Strides in elements, by mode, negative ones too; NULL: row-major. `values` points to the
 * element at coordinates 0, 0, …. Order 0 has one value. */
int32_t weft_tensor_dense(const weft_engine* engine, int32_t scalar, uint32_t order, const uint64_t* extents,
                          const int64_t* strides, const void* values, uint32_t flags, weft_tensor** made,
                          weft_error** error);
/* This and what follows: WEFT_INPUT for arrays that do not fit together, naming level, position and coordinate.
 * Compressed rows: `pos` has rows + 1 elements, `crd` and `values` have nnz; coordinates of a row are sorted, none
 * twice. Indices are integers of index_bits, 32 or 64, signed or not. Compressed columns: `pos` has columns + 1. */
int32_t weft_tensor_csr(const weft_engine* engine, int32_t scalar, uint64_t rows, uint64_t columns, uint64_t nnz,
                        uint32_t index_bits, const void* pos, const void* crd, const void* values, uint32_t flags,
                        weft_tensor** made, weft_error** error);
int32_t weft_tensor_csc(const weft_engine* engine, int32_t scalar, uint64_t rows, uint64_t columns, uint64_t nnz,
                        uint32_t index_bits, const void* pos, const void* crd, const void* values, uint32_t flags,
                        weft_tensor** made, weft_error** error);
/* One array of nnz coordinates per mode. Copied: in any order, duplicates are summed, and all levels become
 * compressed. Borrowed: sorted by mode 0, then 1, …, none twice. Order 0 is refused: a scalar is dense. */
int32_t weft_tensor_coo(const weft_engine* engine, int32_t scalar, uint32_t order, const uint64_t* extents,
                        uint64_t nnz, uint32_t index_bits, const void* const* crd, const void* values, uint32_t flags,
                        weft_tensor** made, weft_error** error);
/* Any format, from the arrays of its levels. By level: `pos` and its elements, `crd` and its elements; NULL and 0 where
 * the level has none. A layout too: scipy's BSR is "bcsr(4,4)", with indptr and indices at the second of four levels
 * and the blocks as values; coordinates of "j:s<8>" have 8 bits, whatever index_bits. `pos` has one element more than
 * its parent has positions (a first level: 2), `crd` one per position; each may be NULL where no level has any, as in
 * packed triangles: "lower" has values alone, row after row (ends of its rows are made). A bitmap (b) has no pos; its
 * `crd` points to words of 64 bits, whatever index_bits, aligned as such, ceil(extent / 64) of them for each position
 * above (a first level: for one), and crd_counts has their number: bit c % 64 of word c / 64 says whether coordinate c
 * has an entry, bits from the extent on are 0. It has `extent` positions for each above; those without an entry have
 * values of 0, and no entries at levels below. Hashed levels are as weft_tensor_level shows them; layouts with either
 * are refused. `extents` are by mode; the scalar type is that of the format. */
int32_t weft_tensor_levels(const weft_engine* engine, const char* format, const uint64_t* extents, uint32_t index_bits,
                           const void* const* pos, const uint64_t* pos_counts, const void* const* crd,
                           const uint64_t* crd_counts, const void* values, uint64_t value_count, uint32_t flags,
                           weft_tensor** made, weft_error** error);
/* The same tensor over extents, by mode, that are larger or equal: WEFT_INPUT if an entry would not fit. */
int32_t weft_tensor_with_extents(const weft_engine* engine, const weft_tensor* tensor, const uint64_t* extents,
                                 weft_tensor** made, weft_error** error);
/* What a slice selects, as a tensor of its own: of mode m the coordinates starts[m] + n * steps[m], counts[m] of them.
 * Modes for which dropped[m] is not 0 select one coordinate and are gone; `dropped` may be NULL. Of a dense tensor it
 * is dense, of others all levels are compressed, in the order in which they are stored (that of the modes where a step
 * is negative). WEFT_INPUT if a coordinate is not below its extent. */
int32_t weft_tensor_slice(const weft_engine* engine, const weft_tensor* tensor, const uint64_t* starts,
                          const int64_t* steps, const uint64_t* counts, const uint8_t* dropped, weft_tensor** made,
                          weft_error** error);
/* The same tensor in another format. Where values stay in their order both have them in common: who writes into them
 * announces it of both. */
int32_t weft_tensor_convert(const weft_engine* engine, const weft_tensor* tensor, const char* format,
                            weft_tensor** made, weft_error** error);
/* Input error naming level and position of a defect. */
int32_t weft_tensor_verify(const weft_engine* engine, const weft_tensor* tensor, weft_error** error);
/* The extension, or the word of a format in front ("mtx:PATH"), says the format; written under a temporary name and
   renamed. "-" is standard output. */
int32_t weft_tensor_write(const weft_engine* engine, const weft_tensor* tensor, const char* path, weft_error** error);
/* WEFT_INPUT, listing the extensions that there are, if weft_tensor_write would not know that of `path`. */
int32_t weft_tensor_writable(const char* path, weft_error** error);
/* All entries, zeros included, into host memory of `count` elements of the tensor's scalar type. Strides in elements,
 * not negative, no two entries in one place; NULL: row-major. */
int32_t weft_tensor_to_dense(const weft_engine* engine, const weft_tensor* tensor, void* values, uint64_t count,
                             const int64_t* strides, weft_error** error);
/* The stored entries in the order of the levels, without exact zeros if `drop_zeros` is 1: one array of coordinates per
 * mode, and values of the tensor's scalar type, each with room for `room` of them. *count becomes their number; if that
 * exceeds `room`, WEFT_INPUT, and nothing is written, so that a call with 0 and NULL tells it. */
int32_t weft_tensor_to_coo(const weft_engine* engine, const weft_tensor* tensor, int32_t drop_zeros, uint64_t room,
                           uint64_t* const* crd, void* values, uint64_t* count, weft_error** error);
/* The tensor with other values of the host over the same pattern: `count` of them, as many as weft_tensor_values tells,
 * of that scalar type. Flags: WEFT_BORROW, else they are copied. Nothing of the pattern is copied, counted or verified
 * again, and `tensor` stays as it was. */
int32_t weft_tensor_same_pattern(const weft_engine* engine, const weft_tensor* tensor, int32_t scalar,
                                 const void* values, uint64_t count, uint32_t flags, weft_tensor** made,
                                 weft_error** error);
/* Tells all that share the tensor's values that the host has changed them in borrowed memory (no coordinates), or is
 * about to. No call that reads the tensor may be under way meanwhile. */
void weft_tensor_values_changed(const weft_tensor* tensor);
/* The element at coordinates, by mode: 0 where nothing is stored, which *stored, unless NULL, tells apart (1 or 0). */
int32_t weft_tensor_at(const weft_engine* engine, const weft_tensor* tensor, const uint64_t* coordinates, double* value,
                       int32_t* stored, weft_error** error);
/* A second handle of the same tensor. */
int32_t weft_tensor_share(const weft_tensor* tensor, weft_tensor** made, weft_error** error);
void weft_tensor_free(weft_tensor* tensor);

uint32_t weft_tensor_order(const weft_tensor* tensor);
uint64_t weft_tensor_extent(const weft_tensor* tensor, uint32_t mode); /* 0 for a mode that it has not */
uint64_t weft_tensor_nnz(const weft_tensor* tensor); /* stored entries, those of dense levels included */
uint64_t weft_tensor_bytes(const weft_tensor* tensor);
/* 1: its index arrays are kept for results of other runs too. A host that lets others write into them copies them. */
int32_t weft_tensor_pattern_is_kept(const weft_tensor* tensor);
int32_t weft_tensor_scalar(const weft_tensor* tensor);       /* WEFT_F64 or WEFT_F32 */
const char* weft_tensor_format(const weft_tensor* tensor);   /* "ds:0,1" */
const char* weft_tensor_summary(const weft_tensor* tensor);  /* "50x60 ds:0,1 f64, 77 stored, 1.1 kB" */
/* One level in place: its kind (the letter of the format), its mode, and its arrays with the number and the width of
 * their elements (unsigned, 32 or 64 bits), NULL, 0 and 0 where it has none. `stride`: of strided host memory, in
 * elements, else 0. Each of them may be NULL if not wanted. The arrays live as long as any handle of the tensor.
 * s, u, h: children of position p of the level above stand in crd at pos[p] to pos[p+1] - 1, those of h with gaps of
 * all ones; q: crd only; b: crd has a bit for each coordinate, in words of 64 per position above; d: neither.
 * Of a layout (weft_tensor_format tells it) the mode is UINT32_MAX, crd may have 8 or 16 bits, and v has pos only. */
int32_t weft_tensor_level(const weft_tensor* tensor, uint32_t level, int32_t* kind, uint32_t* mode, const void** pos,
                          uint64_t* pos_count, uint32_t* pos_bits, const void** crd, uint64_t* crd_count,
                          uint32_t* crd_bits, int64_t* stride, weft_error** error);
/* What a level of a layout holds, its kind and bits: "i/4:d", "j-i:s<8>"; "" for other tensors and levels. `low` (or
 * NULL): the value that coordinate 0 stands for, -2 of j-i over 3 rows. Lives as long as the tensor. */
const char* weft_tensor_level_text(const weft_tensor* tensor, uint32_t level, int64_t* low);
/* The values in place, one per position of the last level; of strided host memory, from its first element on. */
int32_t weft_tensor_values(const weft_tensor* tensor, const void** values, uint64_t* count, weft_error** error);

/* ---- statistics ---- */

/* Of a tensor with that format, extents by mode, and number of stored entries; all values `finite`, 1 or 0. */
int32_t weft_statistics_create(const char* format, const uint64_t* extents, double nnz, int32_t finite,
                               weft_statistics** made, weft_error** error);
/* Of the entries, how many differ in these modes (bit m for mode m). What is not set is estimated as if entries lay
 * anywhere. */
int32_t weft_statistics_set_distinct(weft_statistics* statistics, uint32_t modes, double count, weft_error** error);
/* Counted; keeps a handle of the tensor, borrowed arrays must last. */
int32_t weft_statistics_of(const weft_engine* engine, const weft_tensor* tensor, weft_statistics** made,
                           weft_error** error);
double weft_statistics_nnz(const weft_statistics* statistics);
double weft_statistics_distinct(const weft_statistics* statistics, uint32_t modes);
int32_t weft_statistics_finite(const weft_statistics* statistics); /* 1 or 0 */
/* How many children positions of the level above have: on average, at most, and the standard deviation. Each may be
 * NULL. */
int32_t weft_statistics_fibers(const weft_statistics* statistics, uint32_t level, double* mean, uint64_t* maximum,
                               double* spread, weft_error** error);
/* A line per fact, for people. */
const char* weft_statistics_text(const weft_statistics* statistics);
void weft_statistics_free(weft_statistics* statistics);

/* ---- requests ---- */

int32_t weft_request_create(weft_request** made, weft_error** error);
/* Pins the layout of an operand, or requests that of a result; "like(T)" stores a result at the positions of operand T,
 * with whose index arrays it shares memory: borrowed ones have to last as long as the result. Results in other formats
 * have copies of these, made once for each pattern. */
int32_t weft_request_set_format(weft_request* request, const char* name, const char* format, weft_error** error);
/* Of several assignments, a result that is wanted beside the last and those with a format. */
int32_t weft_request_add_result(weft_request* request, const char* name, weft_error** error);
/* Replace the planner's choice: "((T * C) * B)", several separated by ;. A schedule, and the name that errors call it
 * by. */
int32_t weft_request_set_tree(weft_request* request, const char* tree, weft_error** error);
int32_t weft_request_set_schedule(weft_request* request, const char* schedule, const char* name, weft_error** error);
/* "time", the default, or "workspace-order": the fewest dimensions of the largest workspace. */
int32_t weft_request_set_objective(weft_request* request, const char* objective, weft_error** error);
int32_t weft_request_set_unfused(weft_request* request, int32_t unfused,
                                 weft_error** error); /* store every intermediate */
int32_t weft_request_set_prove(weft_request* request, int32_t prove,
                               weft_error** error); /* until nothing cheaper can exist */
/* How often it is expected to run, which amortises the conversion of operands. Default 1. */
int32_t weft_request_set_calls(weft_request* request, double calls, weft_error** error);
/* 1: operands that are not named as changing may be stored otherwise where that pays within the calls: matrices in
 * blocks, strips of diagonals or slices of rows, sparse vectors dense. Results stay the same but for the order of sums.
 * A kernel stores operands that are bound later in the same way. Default 0. */
int32_t weft_request_set_choose_layouts(weft_request* request, int32_t choose, weft_error** error);
/* An operand whose values the host may change in place between runs without any further word; with `coordinates` 1 its
 * coordinates too, which each run then verifies; sparse results whose pattern comes from it are then returned by runs,
 * not written into memory of the host. */
int32_t weft_request_add_changing(weft_request* request, const char* name, int32_t coordinates, weft_error** error);
/* An operand whose values the host knows to be finite, NULL: all of them. Nothing looks through them then; NaN and Inf
 * that they hold after all may be lost, or spread, where they meet absent entries. */
int32_t weft_request_set_assume_finite(weft_request* request, const char* name, weft_error** error);
/* A result whose sums the code scales as weft_bindings_scale_output says, at the price of a multiplication; those of
 * others are scaled while they are copied. */
int32_t weft_request_add_scaled(weft_request* request, const char* name, weft_error** error);
/* A dense result that the code writes into part of a larger array, whose elements have neighbours along the last mode
 * of its layout only (of one mode: any stride); others are copied there. */
int32_t weft_request_add_strided(weft_request* request, const char* name, weft_error** error);
/* A dense result whose memory the host lends to every run (weft_bindings_set_output): a memory limit does not count it
 * when the plan is made. What is computed beside after all is charged by the run. */
int32_t weft_request_add_lent_result(weft_request* request, const char* name, weft_error** error);
/* How much of the operands becomes part of the code: "generic" (formats), "profiled" (sizes too; the default), "baked"
 * (the coordinates of small operands too) or "automatic" (by the expected calls). A kernel runs over other operands all
 * the same. */
int32_t weft_request_set_specialization(weft_request* request, const char* specialization, weft_error** error);
/* Ends what is compiled or evaluated with this request; NULL, and the default: that of the engine does. */
int32_t weft_request_set_cancellation(weft_request* request, const weft_cancellation* cancellation, weft_error** error);
/* The rest concerns weft_session_evaluate only. So many timed runs after one warm-up; 0, and the default: one run. */
int32_t weft_request_set_repeat(weft_request* request, uint32_t repeat, weft_error** error);
int32_t weft_request_set_plan_only(weft_request* request, int32_t plan_only, weft_error** error); /* no results */
/* 0, with plan_only: no machine code either, unless a stage shows it. Default 1. */
int32_t weft_request_set_compile(weft_request* request, int32_t compile, weft_error** error);
int32_t weft_request_set_why(weft_request* request, int32_t why, weft_error** error); /* what each constraint costs */
int32_t weft_request_set_count(weft_request* request, int32_t count, weft_error** error); /* iterations of each loop */
/* For weft_evaluation_stage: network, tree, schedule, loops, proofs, signature, llvm, asm, object. */
int32_t weft_request_add_stage(weft_request* request, const char* stage, weft_error** error);
void weft_request_free(weft_request* request);

/* ---- sessions ---- */

/* Shares the caches, threads and memory account of the engine, as all that is made from it. */
int32_t weft_session_create(const weft_engine* engine, weft_session** made, weft_error** error);
int32_t weft_session_set(weft_session* session, const char* name, const weft_tensor* tensor, weft_error** error);
int32_t weft_session_get(const weft_session* session, const char* name, weft_tensor** made, weft_error** error);
int32_t weft_session_drop(weft_session* session, const char* name,
                          weft_error** error); /* no error without such a name */
uint64_t weft_session_count(const weft_session* session);
/* In order; valid until any thread asks this session for a name again. */
const char* weft_session_name(weft_session* session, uint64_t number);
/* Evaluates "A(i,r) = T(i,j,k) * B(j,r) * C(k,r)", several assignments separated by ;, or an einsum. `operands` names
 * tensors of the session, with einsum in the order of the factors; every one must be used. NULL: those that the
 * expression reads and does not assign, those of an einsum with their names behind it, "X = ij,jk->ik A B". `request`
 * NULL: the defaults. Errors: WEFT_INPUT with a picture of the text, WEFT_UNSUPPORTED, WEFT_INTERNAL with a text that
 * reproduces it. */
int32_t weft_session_evaluate(weft_session* session, const char* expression, uint64_t operand_count,
                              const char* const* operands, const weft_request* request, weft_evaluation** made,
                              weft_error** error);
/* The same for a text that is evaluated again and again: where it was evaluated before over the same tensors, all is
 * looked up. `soonest` 1: a less specialised kernel answers, the one that is there or a generic one, until the best one
 * is compiled in the background. The evaluation has results, but no report; einsum without
 * names takes the tensors T0, T1, ….
 * `cancellation` NULL: that of the engine. */
int32_t weft_session_answer(const weft_session* session, const char* expression, int32_t soonest,
                            const weft_cancellation* cancellation, weft_evaluation** made, weft_error** error);
void weft_session_free(weft_session* session);

/* ---- kernels: compiled once, run often ---- */

int32_t weft_bindings_create(weft_bindings** made, weft_error** error);
/* Replaces what the name stood for. Flags: 0, WEFT_CHANGES, WEFT_FINITE. */
int32_t weft_bindings_set(weft_bindings* bindings, const char* name, const weft_tensor* tensor, uint32_t flags,
                          weft_error** error);
/* Other values over the pattern of an operand that is set, `count` of them, as many as it stores; what is known of the
 * pattern, and what runs have made of it, stays. They are borrowed. */
int32_t weft_bindings_replace_values(weft_bindings* bindings, const char* name, int32_t scalar, const void* values,
                                     uint64_t count, weft_error** error);
/* The result is written to this memory, shaped as for weft_tensor_dense: computed in place if it is laid out like the
 * result and of its scalar type (with strides: if weft_request_add_strided named it), else copied there. What lies
 * between its elements is not touched. It must not overlap an operand or other memory for results, and runs that share
 * this call, as those of copies of the bindings do, take turns. That no other run reads or writes it meanwhile is the
 * host's duty, which checked engines watch (WEFT_INPUT, naming both). */
int32_t weft_bindings_set_output(weft_bindings* bindings, const char* name, int32_t scalar, uint32_t order,
                                 const uint64_t* extents, const int64_t* strides, void* values, weft_error** error);
/* The same for a sparse result: its values are written into those of a tensor over the pattern of the operand at whose
 * positions it is stored, or over one that weft_kernel_symbolic gave for it (weft_tensor_same_pattern with
 * WEFT_BORROW). Runs return that tensor, of whose pattern all is known. Runs end with WEFT_CODE_PATTERN_CHANGED where
 * the operand has another pattern. Dense tensors of borrowed memory are taken as by weft_bindings_set_output. */
int32_t weft_bindings_set_output_tensor(weft_bindings* bindings, const char* name, const weft_tensor* memory,
                                        weft_error** error);
/* The result becomes alpha * result + beta * memory there, as BLAS has it: with beta 0 what was there is not read. In
 * place if alpha is 1, or weft_request_add_scaled named the result; else copied. WEFT_INPUT where no memory is set. */
int32_t weft_bindings_scale_output(weft_bindings* bindings, const char* name, double alpha, double beta,
                                   weft_error** error);
/* Memory for what runs need beside operands and results, at least weft_kernel_scratch_bytes, used instead of memory of
 * the engine; between runs the host may use it too. Runs end with WEFT_RESOURCE (WEFT_CODE_MEMORY_LIMIT) where it is
 * too small, with WEFT_INPUT where another run uses it or it overlaps operands or outputs. NULL and 0: the engine's
 * again. */
int32_t weft_bindings_set_scratch(weft_bindings* bindings, void* memory, uint64_t bytes, weft_error** error);
/* The same operands and outputs, to be changed apart from these; what runs have kept is not copied. */
int32_t weft_bindings_copy(const weft_bindings* bindings, weft_bindings** made, weft_error** error);
void weft_bindings_free(weft_bindings* bindings);

/* Compiles for operands with the formats and extents of those bound; nothing of them is kept. `expression` as for
 * weft_session_evaluate, with the names that it has (an einsum's operands are T0, T1, … without); `request` NULL: the
 * defaults. Equal kernels are compiled once. Errors: as of weft_session_evaluate. */
int32_t weft_engine_compile(const weft_engine* engine, const char* expression, const weft_bindings* bindings,
                            const weft_request* request, weft_kernel** made, weft_error** error);
/* The same for operands of which only figures are known: `names` and `statistics` have `count` elements each. */
int32_t weft_engine_compile_for(const weft_engine* engine, const char* expression, uint64_t count,
                                const char* const* names, const weft_statistics* const* statistics,
                                const weft_request* request, weft_kernel** made, weft_error** error);
/* The same on a thread of the engine's own. `done`, if not NULL, is called there when the kernel, or an error, is
 * there; it must not call weft, nor throw or jump out. `cancellation` ends this compilation only; NULL: that of the
 * request. Borrowed arrays must last until then. */
int32_t weft_compilation_start(const weft_engine* engine, const char* expression, const weft_bindings* bindings,
                               const weft_request* request, const weft_cancellation* cancellation,
                               weft_done_callback done, void* context, weft_compilation** made, weft_error** error);
int32_t weft_compilation_ready(const weft_compilation* compilation); /* 1 or 0; does not wait */
/* Waits; the kernel, or the error of the compilation. As often as wanted. */
int32_t weft_compilation_kernel(const weft_compilation* compilation, weft_kernel** made, weft_error** error);
void weft_compilation_free(weft_compilation* compilation); /* does not wait, and does not end the compilation */

/* Operands of other formats are converted, those of other extents run in a more general kernel, which is made if need
 * be; WEFT_INPUT for one that is missing, has another order, or extents that do not agree with the others'. `made`
 * NULL: only the outputs set are wanted. `cancellation` NULL: that of the engine. The evaluation has results, but no
 * report. */
int32_t weft_kernel_run(const weft_kernel* kernel, const weft_bindings* bindings, const weft_cancellation* cancellation,
                        weft_evaluation** made, weft_error** error);
/* A run whose results own their memory, with "like(T)" too, and know the patterns that theirs was computed from: as
 * long as operands have these, later runs write values over the same pattern, without counting, where
 * weft_bindings_set_output_tensor says. WEFT_UNSUPPORTED for sparse results that are asked for in a layout. */
int32_t weft_kernel_symbolic(const weft_kernel* kernel, const weft_bindings* bindings,
                             const weft_cancellation* cancellation, weft_evaluation** made, weft_error** error);
/* Does now what the first run over these bindings would do: verifies, converts, allocates. */
int32_t weft_kernel_prepare(const weft_kernel* kernel, const weft_bindings* bindings,
                            const weft_cancellation* cancellation, weft_error** error);
/* What weft_bindings_set_scratch has to lend for runs over these bindings. */
int32_t weft_kernel_scratch_bytes(const weft_kernel* kernel, const weft_bindings* bindings, uint64_t* bytes,
                                  weft_error** error);
/* Any stage, without having asked for it; see weft_request_add_stage and weft_evaluation_stage. */
int32_t weft_kernel_stage(weft_kernel* kernel, const char* stage, const char** text, uint64_t* bytes,
                          weft_error** error);
/* What planning and compiling told, as weft_evaluation_report. */
int32_t weft_kernel_report(weft_kernel* kernel, const char** json, weft_error** error);
/* Plan and machine code as bytes for weft_engine_load, and as a file, which gets its name when it is complete. The
 * bytes belong to the kernel. */
int32_t weft_kernel_save(weft_kernel* kernel, const void** saved, uint64_t* bytes, weft_error** error);
int32_t weft_kernel_save_file(const weft_kernel* kernel, const char* path, weft_error** error);
/* What weft_kernel_save has written: nothing is planned or compiled. It is TRUSTED CODE, run as what a host links; a
 * checksum finds damage, not malice. WEFT_INPUT says what is wrong: damaged, cut off, of another version, for another
 * CPU or other options of the engine. */
int32_t weft_engine_load(const weft_engine* engine, const void* saved, uint64_t bytes, weft_kernel** made,
                         weft_error** error);
int32_t weft_engine_load_file(const weft_engine* engine, const char* path, weft_kernel** made, weft_error** error);
/* The plan as the self-contained page of --html, with what the fastest run so far took where there was one. */
int32_t weft_kernel_page(weft_kernel* kernel, const char** html, weft_error** error);
/* What the kernel reads and makes, each in the order of the names; "" for a number that is none. */
uint64_t weft_kernel_operand_count(const weft_kernel* kernel);
const char* weft_kernel_operand(const weft_kernel* kernel, uint64_t number);
uint64_t weft_kernel_result_count(const weft_kernel* kernel);
const char* weft_kernel_result(const weft_kernel* kernel, uint64_t number);
/* Of a result: its format, "ds" or "ds:1,0", the type of its values and its order. Each of them may be NULL. */
int32_t weft_kernel_result_format(const weft_kernel* kernel, uint64_t number, const char** format, int32_t* scalar,
                                  uint32_t* order, weft_error** error);
/* The operand's mode that gives a result's mode its extent. */
int32_t weft_kernel_result_extent(const weft_kernel* kernel, uint64_t number, uint32_t mode, const char** operand,
                                  uint32_t* operand_mode, weft_error** error);
void weft_kernel_free(weft_kernel* kernel);

/* ---- evaluations ---- */

uint64_t weft_evaluation_count(const weft_evaluation* evaluation); /* of results; 0 if only planned */
const char* weft_evaluation_name(const weft_evaluation* evaluation, uint64_t number); /* in the order of their names */
/* The tensor stays valid when the evaluation is freed. */
int32_t weft_evaluation_result(const weft_evaluation* evaluation, const char* name, weft_tensor** made,
                               weft_error** error);
/* The report of --json: one object as text. */
int32_t weft_evaluation_report(weft_evaluation* evaluation, const char** json, weft_error** error);
/* The plan explained in some lines for people. */
const char* weft_evaluation_explanation(const weft_evaluation* evaluation);
/* A stage that the request asked for; `bytes`, which may be NULL, matters for "object" only, which is no text. */
int32_t weft_evaluation_stage(const weft_evaluation* evaluation, const char* stage, const char** text, uint64_t* bytes,
                              weft_error** error);
/* The report as the self-contained page of --html. */
int32_t weft_evaluation_page(weft_evaluation* evaluation, const char** html, weft_error** error);
void weft_evaluation_free(weft_evaluation* evaluation);

#ifdef __cplusplus
}
#endif

#endif
