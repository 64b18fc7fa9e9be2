/* SPDX-License-Identifier: GPL-2.0 */
#ifndef FRAMELANE_MAPPING_H
#define FRAMELANE_MAPPING_H

#include <linux/list.h>
#include <linux/scatterlist.h>
#include <linux/types.h>

#include "framelane_pcie.h"

struct device;
struct dma_buf;
struct dma_buf_attachment;
struct mm_struct;
struct page;

/* What one MAP has made: `pages` of a program, or `attachment`; `resources` where the exporter gave addresses that the card may not use. */
struct mapping {
	struct list_head list;
	u64 handle;
	struct sg_table *table;
	struct sg_table own;
	struct page **pages;
	unsigned long n_pages;
	struct mm_struct *mm;
	struct dma_buf *buffer;
	struct dma_buf_attachment *attachment;
	dma_addr_t *resources;
	unsigned int n_resources;
};

/* Whether an IOMMU gives the device addresses of its own. */
bool mapping_translated(struct device *dev);
/* Map what was asked for, and tell the addresses of its pages; an error as ERR_PTR. */
struct mapping *mapping_make(struct device *dev, const struct framelane_pcie_map *asked);
void mapping_end(struct device *dev, struct mapping *m);

#endif
