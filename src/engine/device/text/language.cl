// One language for kernels, of which OpenCL C and CUDA C++ are two spellings. It comes before every other text.
//
// An array of a kernel is where its buffer begins and at which element it begins there, because OpenCL knows no
// address within a buffer: IN(x) and OUT(z) declare the two arguments, READ(x) and WRITE(z) make one pointer of them.
#ifdef __OPENCL_VERSION__
typedef long int64;
#define KERNEL __kernel void
#define GLOBAL __global
#define LOCAL __local
#define RESTRICT restrict
#define INLINE static inline
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define ITEM(axis) ((int64)get_local_id(axis))
#define ITEMS(axis) ((int64)get_local_size(axis))
#define GROUP(axis) ((int64)get_group_id(axis))
#define GROUPS(axis) ((int64)get_num_groups(axis))
#define LARGEST MAXFLOAT
#else
typedef long long int64;
#define KERNEL extern "C" __global__ void
#define GLOBAL
#define LOCAL __shared__
#define RESTRICT __restrict__
#define INLINE __device__ inline
#define AXIS_0 x
#define AXIS_1 y
#define AXIS_2 z
#define BARRIER __syncthreads()
#define ITEM(axis) ((int64)(threadIdx.AXIS_##axis))
#define ITEMS(axis) ((int64)(blockDim.AXIS_##axis))
#define GROUP(axis) ((int64)(blockIdx.AXIS_##axis))
#define GROUPS(axis) ((int64)(gridDim.AXIS_##axis))
#define LARGEST 3.402823466e+38f
#endif

#define IN(name) GLOBAL const float* RESTRICT name##_buffer, int64 name##_at
#define OUT(name) GLOBAL float* RESTRICT name##_buffer, int64 name##_at
#define READ(name) GLOBAL const float* RESTRICT name = name##_buffer + name##_at
#define WRITE(name) GLOBAL float* RESTRICT name = name##_buffer + name##_at

// The number of this work-item among all of a launch along an axis, and how many there are.
#define INDEX(axis) (GROUP(axis) * ITEMS(axis) + ITEM(axis))
#define COUNT(axis) (GROUPS(axis) * ITEMS(axis))
// Work-items step over n elements by their number, so that any launch covers any length.
#define EACH(i, n) for (int64 i = INDEX(0); i < (n); i += COUNT(0))
