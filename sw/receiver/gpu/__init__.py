"""The receiver on a GPU: CUDA kernels that equal the CPU's results, and what drives them. Needs CuPy and a GPU."""
