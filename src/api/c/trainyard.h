/* Trainyard for programs in C, and in whatever can call C: load a network, ask for its shapes, run
 * it.
 *
 * A function that fails returns NULL or a number other than 0; ty_last_error() then says what was
 * expected and what was found. Sessions are independent: several threads may use several sessions,
 * one thread at a time each.
 */
#ifndef TRAINYARD_H
#define TRAINYARD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TY_API __attribute__((visibility("default")))

/* What a call returns, and what the program's exit codes mean. */
enum {
  TY_OK = 0,
  TY_FAILED = 1, /* it could not be done: no memory, a file that cannot be read */
  TY_WRONG = 2,  /* the request was wrong: name, shape, type */
  TY_DEFECT = 3  /* a defect of the library */
};

/* Element types, with the numbers of ONNX. */
enum {
  TY_FLOAT = 1,
  TY_UINT8 = 2,
  TY_INT8 = 3,
  TY_UINT16 = 4,
  TY_INT16 = 5,
  TY_INT32 = 6,
  TY_INT64 = 7,
  TY_BOOL = 9,
  TY_FLOAT16 = 10,
  TY_DOUBLE = 11,
  TY_UINT32 = 12,
  TY_UINT64 = 13,
  TY_BFLOAT16 = 16
};

/* A tensor in row-major order. */
typedef struct ty_tensor {
  const char* name;
  int32_t type;
  int32_t rank;
  const int64_t* dims; /* -1: only the data decides */
  const void* data;    /* NULL where a tensor is only described */
  size_t bytes;
} ty_tensor;

typedef struct ty_session ty_session;

/* "0.1.0". */
TY_API const char* ty_version(void);

/* Of the last call of this thread that failed; "" if none did. Valid until the next call. */
TY_API const char* ty_last_error(void);

/* `model` is an ONNX file, the directory of a run, or the name of a built-in network. `threads` may
 * be 0: as many as there are cores. `shapes` fixes the dimensions that a file leaves open, by name;
 * NULL if there are none. To be freed with ty_free(). */
TY_API ty_session* ty_load(const char* model, int32_t threads, const ty_tensor* shapes,
                           size_t shape_count);

TY_API size_t ty_input_count(const ty_session* session);
TY_API size_t ty_output_count(const ty_session* session);

/* Describe an input or output: name, type and dimensions, which belong to the session. */
TY_API int32_t ty_input(const ty_session* session, size_t index, ty_tensor* description);
TY_API int32_t ty_output(const ty_session* session, size_t index, ty_tensor* description);

/* Runs the network. `inputs` has a tensor for every input, in any order; they are found by name, or
 * by their place where the name is NULL. The first run with other dimensions takes longer: the
 * network is compiled for them. `outputs` has room for ty_output_count() tensors, whose data belong
 * to the session and are valid until its next run. */
TY_API int32_t ty_run(ty_session* session, const ty_tensor* inputs, size_t input_count,
                      ty_tensor* outputs);

/* NULL is allowed. */
TY_API void ty_free(ty_session* session);

#ifdef __cplusplus
}
#endif

#endif
