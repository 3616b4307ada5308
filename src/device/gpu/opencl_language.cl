/* SPDX-License-Identifier: Apache-2.0
 * The words in which OpenCL C and CUDA C++ differ, in OpenCL C. Addresses in structs are ulong; AT
 * turns them into pointers. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define KERNEL __kernel
#define FUNCTION
#define GLOBAL __global
#define LOCAL __local
#define SHARED __local
#define AT(type, address) ((__global type *)(address))
#define GROUP(d) ((long)get_group_id(d))
#define GROUPS(d) ((long)get_num_groups(d))
#define THREAD ((int)get_local_id(0))
#define ITEM ((long)get_global_id(0))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define AS_FLOAT(bits) as_float(bits)
#define AS_UINT(number) as_uint(number)
#define MULTIPLY_HIGH(a, b) mul_hi((uint)(a), (uint)(b))
