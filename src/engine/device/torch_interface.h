// What the program and libtrainyard_torch.so say to each other: plain C, so that neither needs the
// compiler, the flags or the libraries of the other. The plugin alone is linked to libtorch; the
// program opens it at run time (torch_library.h).
//
// Functions that may fail return null or a number other than 0, and error() says why, to the thread
// that asked. None lets an exception out.
#pragma once

#include <stdint.h>  // NOLINT(modernize-deprecated-headers): plain C

extern "C" {

// Of this file. A plugin of another version is not used.
enum { kTorchInterface = 2 };

// The name of the only function that the library exports: const TorchInterface* f(void).
#define TRAINYARD_TORCH_ENTRY "trainyard_torch_interface"

// As trainyard::DType where libtorch has the type.
enum TorchType {
  kTorchAbsent = -1,
  kTorchF32 = 0,
  kTorchF64 = 1,
  kTorchF16 = 2,
  kTorchBF16 = 3,
  kTorchI8 = 4,
  kTorchI16 = 5,
  kTorchI32 = 6,
  kTorchI64 = 7,
  kTorchU8 = 8,
  kTorchBool = 12,
};

struct TorchOperand {
  int32_t type;  // kTorchAbsent: the node does not have it
  int32_t rank;
  const int64_t* dims;
  // Of an input that is known before the run: its numbers, row-major, in the host's memory.
  const void* known;
};

// One of the three has `count` entries; a text is `count` letters and a zero.
struct TorchAttribute {
  const char* name;
  int64_t count;
  const int64_t* ints;
  const float* floats;
  const char* text;
};

// Valid while the function runs that it is given to.
struct TorchNode {
  const char* op;
  const char* name;
  int64_t num_inputs;
  int64_t num_outputs;
  int64_t num_attributes;
  const struct TorchOperand* inputs;
  const struct TorchOperand* outputs;
  const struct TorchAttribute* attributes;
};

// How products of matrices and convolutions may round.
enum TorchPrecision {
  kTorchFull = 0,
  kTorchTF32 = 1,
  kTorchBF16Products = 2,
  kTorchF16Products = 3,
};

struct TorchInterface {
  int32_t version;      // kTorchInterface
  const char* library;  // "libtorch 1.13.1"
  // Each ends with null. Devices are "cpu", "cuda:0" …: what open() takes.
  const char* const* (*devices)(void);
  const char* const* operators;

  void* (*open)(const char* name);
  void (*close)(void* device);
  int32_t (*set_precision)(void* device, int32_t precision);
  // Addresses name places of the device; arithmetic with them is allowed, use by the host is not.
  void* (*allocate)(void* device, int64_t bytes);
  void (*release)(void* device, void* address);
  // Both end when the bytes are there.
  int32_t (*write)(void* device, void* to, const void* from, int64_t bytes);
  int32_t (*read)(void* device, void* to, const void* from, int64_t bytes);
  int32_t (*finish)(void* device);

  // Why the node is not taken, in words that live as long as the library; empty: it is.
  const char* (*refuses)(const struct TorchNode* node);
  // Known inputs are copied to the device and need not be given again.
  void* (*create)(void* device, const struct TorchNode* node);
  void (*destroy)(void* kernel);
  // With the addresses of all inputs and outputs, null for known and absent ones.
  void* (*bind)(void* kernel, void* const* inputs, void* const* outputs);
  void (*unbind)(void* bound);
  int32_t (*run)(void* bound);

  const char* (*error)(void);
};

}  // extern "C"
