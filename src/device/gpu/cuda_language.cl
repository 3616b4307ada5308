/* SPDX-License-Identifier: Apache-2.0
 * The words in which OpenCL C and CUDA C++ differ, in CUDA C++. */
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#define KERNEL extern "C" __global__ __launch_bounds__(128)
#define FUNCTION static __device__ inline
#define GLOBAL
#define LOCAL
#define SHARED __shared__
#define AT(type, address) ((type *)(address))
#define GROUP(d) ((long)((d) == 0 ? blockIdx.x : blockIdx.y))
#define GROUPS(d) ((long)((d) == 0 ? gridDim.x : gridDim.y))
#define THREAD ((int)threadIdx.x)
#define ITEM ((long)blockIdx.x * blockDim.x + threadIdx.x)
#define BARRIER __syncthreads()
#define AS_FLOAT(bits) __uint_as_float(bits)
#define AS_UINT(number) __float_as_uint(number)
#define MULTIPLY_HIGH(a, b) __umulhi(a, b)
#ifndef INFINITY /* as in nvrtc, which includes nothing */
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)
#endif
