// SPDX-License-Identifier: GPL-2.0
/* Memory of a program, or of a GPU by dma-buf, under addresses that a card may write to. */
#include "mapping.h"

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
MODULE_IMPORT_NS("DMA_BUF");
#else
MODULE_IMPORT_NS(DMA_BUF);
#endif

bool mapping_translated(struct device *dev)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	return domain && (domain->type & __IOMMU_DOMAIN_PAGING);
}

/* Whether `address` lies in a BAR of some device: such an address is the bus's own, since the kernel gives no device one of these. */
static bool in_a_bar(dma_addr_t address)
{
	struct pci_dev *other = NULL;
	int bar;

	for_each_pci_dev(other)
		for (bar = 0; bar < PCI_STD_NUM_BARS; bar++)
			if ((pci_resource_flags(other, bar) & IORESOURCE_MEM) && pci_resource_len(other, bar) &&
			    address >= pci_resource_start(other, bar) && address <= pci_resource_end(other, bar)) {
				pci_dev_put(other);
				return true;
			}
	return false;
}

void mapping_end(struct device *dev, struct mapping *m)
{
	struct scatterlist *sg;
	unsigned int n;

	if (m->resources) {
		for_each_sgtable_dma_sg(m->table, sg, n)
			if (n < m->n_resources)
				dma_unmap_resource(dev, m->resources[n], sg_dma_len(sg), DMA_FROM_DEVICE, 0);
		kvfree(m->resources);
	}
	if (m->attachment) {
		if (m->table)
			dma_buf_unmap_attachment_unlocked(m->attachment, m->table, DMA_FROM_DEVICE);
		dma_buf_detach(m->buffer, m->attachment);
	}
	if (m->buffer)
		dma_buf_put(m->buffer);
	if (m->pages) {
		if (m->table) {
			dma_unmap_sgtable(dev, m->table, DMA_FROM_DEVICE, 0);
			sg_free_table(m->table);
		}
		unpin_user_pages_dirty_lock(m->pages, m->n_pages, true);
		account_locked_vm(m->mm, m->n_pages, false);
		mmdrop(m->mm);
		kvfree(m->pages);
	}
	kfree(m);
}

static int map_memory(struct device *dev, struct mapping *m, const struct framelane_pcie_map *asked)
{
	unsigned long wanted = asked->memory.bytes >> PAGE_SHIFT;
	long pinned;
	int error;

	if (!asked->memory.bytes || !PAGE_ALIGNED(asked->memory.bytes) || !PAGE_ALIGNED(asked->memory.start) ||
	    asked->memory.bytes != (u64)asked->count << asked->page_log2 || wanted > INT_MAX)
		return -EINVAL;
	error = account_locked_vm(current->mm, wanted, true);
	if (error)
		return error;
	m->pages = kvcalloc(wanted, sizeof(*m->pages), GFP_KERNEL);
	if (!m->pages) {
		account_locked_vm(current->mm, wanted, false);
		return -ENOMEM;
	}
	pinned = pin_user_pages_fast(asked->memory.start, wanted, FOLL_WRITE | FOLL_LONGTERM, m->pages);
	if (pinned != wanted) {
		if (pinned > 0)
			unpin_user_pages(m->pages, pinned);
		account_locked_vm(current->mm, wanted, false);
		kvfree(m->pages);
		m->pages = NULL;
		return pinned < 0 ? pinned : -EFAULT;
	}
	m->n_pages = wanted;
	m->mm = current->mm;
	mmgrab(m->mm);
	error = sg_alloc_table_from_pages(&m->own, m->pages, wanted, 0, asked->memory.bytes, GFP_KERNEL);
	if (error)
		return error;
	error = dma_map_sgtable(dev, &m->own, DMA_FROM_DEVICE, 0);
	if (error) {
		sg_free_table(&m->own);
		return error;
	}
	m->table = &m->own;
	return 0;
}

/* The exporter may give addresses of its BAR as they are on the bus. Behind an IOMMU that translates, they are mapped here, piece by piece. */
static int map_resources(struct device *dev, struct mapping *m)
{
	struct scatterlist *sg;
	unsigned int n;

	if (!mapping_translated(dev) || !in_a_bar(sg_dma_address(m->table->sgl)))
		return 0;
	m->resources = kvcalloc(m->table->nents, sizeof(*m->resources), GFP_KERNEL);
	if (!m->resources)
		return -ENOMEM;
	for_each_sgtable_dma_sg(m->table, sg, n) {
		dma_addr_t address = dma_map_resource(dev, sg_dma_address(sg), sg_dma_len(sg), DMA_FROM_DEVICE, 0);

		if (dma_mapping_error(dev, address))
			return -EIO;
		m->resources[n] = address;
		m->n_resources = n + 1;
	}
	return 0;
}

static int map_dmabuf(struct device *dev, struct mapping *m, const struct framelane_pcie_map *asked)
{
	struct dma_buf *buffer = dma_buf_get(asked->dmabuf);
	struct dma_buf_attachment *attachment;
	struct sg_table *table;

	if (IS_ERR(buffer))
		return PTR_ERR(buffer);
	m->buffer = buffer;
	if (asked->memory.start || asked->memory.bytes)
		return -EINVAL;
	attachment = dma_buf_attach(buffer, dev);
	if (IS_ERR(attachment))
		return PTR_ERR(attachment);
	m->attachment = attachment;
	table = dma_buf_map_attachment_unlocked(attachment, DMA_FROM_DEVICE);
	if (IS_ERR(table))
		return PTR_ERR(table);
	m->table = table;
	return map_resources(dev, m);
}

/* The card's address of each of its pages; each must lie in one piece, at a multiple of its size. */
static int tell_addresses(struct mapping *m, const struct framelane_pcie_map *asked)
{
	u64 size = 1ULL << asked->page_log2, within = 0, expected = 0;
	u64 *found = kvcalloc(asked->count, sizeof(*found), GFP_KERNEL);
	unsigned int n, page = 0;
	struct scatterlist *sg;
	int error = 0;

	if (!found)
		return -ENOMEM;
	for_each_sgtable_dma_sg(m->table, sg, n) {
		u64 address = m->resources ? m->resources[n] : sg_dma_address(sg), left = sg_dma_len(sg);

		while (left && page < asked->count) {
			u64 step = min(left, size - within);

			if (!within)
				found[page] = address;
			if (within ? address != expected : address & (size - 1)) {
				error = -ERANGE;
				goto out;
			}
			address += step;
			expected = address;
			left -= step;
			within += step;
			if (within == size) {
				within = 0;
				page++;
			}
		}
	}
	if (page != asked->count)
		error = -EINVAL; /* the memory is shorter */
	else if (copy_to_user(u64_to_user_ptr(asked->addresses), found, asked->count * sizeof(*found)))
		error = -EFAULT;
out:
	kvfree(found);
	return error;
}

struct mapping *mapping_make(struct device *dev, const struct framelane_pcie_map *asked)
{
	struct mapping *m;
	int error;

	if (asked->page_log2 < 12 || asked->page_log2 > 21 || !asked->count || asked->count > 1 << 17 || asked->reserved)
		return ERR_PTR(-EINVAL);
	m = kzalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		return ERR_PTR(-ENOMEM);
	error = asked->dmabuf >= 0 ? map_dmabuf(dev, m, asked) : map_memory(dev, m, asked);
	if (!error)
		error = tell_addresses(m, asked);
	if (!error)
		return m;
	mapping_end(dev, m);
	return ERR_PTR(error);
}
