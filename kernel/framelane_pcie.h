/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* What a program says to /dev/framelane_pcie-ADDRESS. The file is opened by one program at a time; all that it has mapped is unmapped when it
 * is closed, and before that the card may write no more. BAR n is mapped by mmap at offset n << FRAMELANE_PCIE_BAR_SHIFT. */
#ifndef FRAMELANE_PCIE_H
#define FRAMELANE_PCIE_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define FRAMELANE_PCIE_VERSION 1
#define FRAMELANE_PCIE_BAR_SHIFT 40

struct framelane_pcie_info {
	__u32 version;
	__u32 translated; /* 1: an IOMMU gives the card addresses of its own */
	__u64 bar_bytes[6];
};

/* Memory of the program, from `start` on, whole pages. */
struct framelane_pcie_memory {
	__u64 start;
	__u64 bytes;
};

/* Memory for the card, in `count` pages of 2^`page_log2` bytes. The card's address of each is written to `addresses`, of `count` numbers. */
struct framelane_pcie_map {
	__u32 page_log2; /* 12 to 21 */
	__u32 count;
	__u64 addresses; /* where in the program */
	__u64 handle;    /* answered: for unmap */
	__s32 dmabuf;    /* a dma-buf, or -1: `memory` */
	__u32 reserved;  /* 0 */
	struct framelane_pcie_memory memory;
};

#define FRAMELANE_PCIE_INFO _IOR('F', 0xE0, struct framelane_pcie_info)
#define FRAMELANE_PCIE_MAP _IOWR('F', 0xE1, struct framelane_pcie_map)
#define FRAMELANE_PCIE_UNMAP _IOW('F', 0xE2, __u64)
/* The card's first interrupt, MSI-X or MSI, counts up this eventfd; -1: none any more. */
#define FRAMELANE_PCIE_INTERRUPT _IOW('F', 0xE3, __s32)

#endif
