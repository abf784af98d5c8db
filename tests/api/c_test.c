/* The C interface as a C program uses it: c_test MODEL.onnx. Ends with 0 if all is well. */
#include "api/c/trainyard.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void check(int holds, const char* what) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "FAILED: %s (%s)\n", what, ty_last_error());
}

static void refuses(ty_session* session, const ty_tensor* input, const char* what, const char* word) {
  check(ty_run(session, input, 1, NULL) == TY_WRONG && strstr(ty_last_error(), word) != NULL, what);
}

static void check_refusals(ty_session* session, ty_tensor input) {
  ty_tensor wrong = input;
  wrong.bytes -= 4;
  refuses(session, &wrong, "too few bytes", "bytes");
  wrong = input;
  wrong.type = TY_DOUBLE;
  refuses(session, &wrong, "another type", "type");
  wrong = input;
  wrong.name = "nobody";
  refuses(session, &wrong, "an unknown name", "nobody");
  wrong = input;
  wrong.data = NULL;
  refuses(session, &wrong, "no data", "data");
  wrong = input;
  wrong.dims = NULL;
  refuses(session, &wrong, "no dimensions", "rank");
  check(ty_run(session, NULL, 0, NULL) == TY_WRONG, "no inputs");
  check(ty_run(NULL, &input, 1, NULL) == TY_WRONG, "no session");
}

/* Sum of the scores of `rows` images, all of them the same. */
static double run_rows(ty_session* session, int64_t rows, float value) {
  const int64_t dims[4] = {rows, 1, 28, 28};
  const size_t count = (size_t)rows * 28 * 28;
  float* pixels = malloc(count * sizeof(float));
  double sum = 0;
  size_t i;
  ty_tensor output;
  ty_tensor input = {NULL, TY_FLOAT, 4, dims, pixels, count * sizeof(float)};
  for (i = 0; i < count; ++i) pixels[i] = value;
  check(ty_run(session, &input, 1, &output) == TY_OK, "it runs");
  check(output.rank == 2 && output.dims[0] == rows && output.dims[1] == 10, "scores of each row");
  check(output.bytes == (size_t)rows * 10 * sizeof(float), "their bytes");
  for (i = 0; i < (size_t)rows * 10; ++i) sum += ((const float*)output.data)[i];
  if (rows == 1) check_refusals(session, input);
  free(pixels);
  return sum;
}

int main(int count, char** arguments) {
  ty_tensor description;
  ty_session* session;
  double one;
  if (count != 2) return 2;
  check(strlen(ty_version()) > 0, "there is a version");
  check(ty_load("no-such-network", 1, NULL, 0) == NULL && strstr(ty_last_error(), "no-such-network") != NULL,
        "an unknown network");
  session = ty_load(arguments[1], 1, NULL, 0);
  check(session != NULL, "the file is loaded");
  if (session == NULL) return 1;
  check(ty_input_count(session) == 1 && ty_output_count(session) == 1, "one input, one output");
  check(ty_input(session, 0, &description) == TY_OK && description.type == TY_FLOAT && description.rank == 4 &&
            description.dims[3] == 28,
        "the input is described");
  check(ty_output(session, 1, &description) == TY_WRONG, "there is no second output");
  one = run_rows(session, 1, 0.5F);
  check(fabs(run_rows(session, 3, 0.5F) - 3 * one) < 1e-3, "three rows give three times the sum");
  check(fabs(run_rows(session, 1, 0.5F) - one) < 1e-6, "the first plan is still there");
  ty_free(session);
  ty_free(NULL);
  if (failures == 0) puts("all is well");
  return failures == 0 ? 0 : 1;
}
