// SPDX-License-Identifier: GPL-2.0
/* A PCI card that writes into memory of a program, or of a GPU by dma-buf: for what VFIO cannot do (README.md). The card is bound to this
 * driver by driver_override; it knows no card by itself, and nothing of what a card does. */
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/eventfd.h>
#include <linux/interrupt.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#include "mapping.h"

/* Lives as long as the card is bound, and as its file is open. */
struct card {
	struct kref users;
	struct pci_dev *pdev; /* NULL: it has gone */
	struct miscdevice misc;
	char name[40];
	struct mutex lock;
	bool open;
	struct address_space *space;
	struct list_head mappings;
	u64 next_handle;
	struct eventfd_ctx *trigger;
};


static void card_free(struct kref *users)
{
	kfree(container_of(users, struct card, users));
}

static long do_map(struct card *card, void __user *argument)
{
	struct framelane_pcie_map asked;
	struct mapping *m;

	if (copy_from_user(&asked, argument, sizeof(asked)))
		return -EFAULT;
	m = mapping_make(&card->pdev->dev, &asked);
	if (IS_ERR(m))
		return PTR_ERR(m);
	m->handle = asked.handle = ++card->next_handle;
	if (copy_to_user(argument, &asked, sizeof(asked))) {
		mapping_end(&card->pdev->dev, m);
		return -EFAULT;
	}
	list_add(&m->list, &card->mappings);
	return 0;
}

static long do_unmap(struct card *card, const u64 __user *argument)
{
	struct mapping *m;
	u64 handle;

	if (get_user(handle, argument))
		return -EFAULT;
	list_for_each_entry(m, &card->mappings, list)
		if (m->handle == handle) {
			list_del(&m->list);
			mapping_end(&card->pdev->dev, m);
			return 0;
		}
	return -ENOENT;
}

static irqreturn_t on_interrupt(int irq, void *data)
{
	struct card *card = data;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
	eventfd_signal(card->trigger);
#else
	eventfd_signal(card->trigger, 1);
#endif
	return IRQ_HANDLED;
}

static void end_interrupt(struct card *card)
{
	if (!card->trigger)
		return;
	free_irq(pci_irq_vector(card->pdev, 0), card);
	pci_free_irq_vectors(card->pdev);
	eventfd_ctx_put(card->trigger);
	card->trigger = NULL;
}

static long do_interrupt(struct card *card, const s32 __user *argument)
{
	struct eventfd_ctx *trigger;
	s32 fd;
	int error;

	if (get_user(fd, argument))
		return -EFAULT;
	end_interrupt(card);
	if (fd < 0)
		return 0;
	trigger = eventfd_ctx_fdget(fd);
	if (IS_ERR(trigger))
		return PTR_ERR(trigger);
	error = pci_alloc_irq_vectors(card->pdev, 1, 1, PCI_IRQ_MSIX | PCI_IRQ_MSI);
	if (error < 0)
		goto put;
	card->trigger = trigger;
	error = request_irq(pci_irq_vector(card->pdev, 0), on_interrupt, 0, card->name, card);
	if (!error)
		return 0;
	card->trigger = NULL;
	pci_free_irq_vectors(card->pdev);
put:
	eventfd_ctx_put(trigger);
	return error;
}

static long do_info(struct card *card, void __user *argument)
{
	struct framelane_pcie_info info = { .version = FRAMELANE_PCIE_VERSION, .translated = mapping_translated(&card->pdev->dev) };
	int bar;

	for (bar = 0; bar < PCI_STD_NUM_BARS; bar++)
		if (pci_resource_flags(card->pdev, bar) & IORESOURCE_MEM)
			info.bar_bytes[bar] = pci_resource_len(card->pdev, bar);
	return copy_to_user(argument, &info, sizeof(info)) ? -EFAULT : 0;
}

static long card_ioctl(struct file *file, unsigned int request, unsigned long argument)
{
	struct card *card = file->private_data;
	void __user *where = (void __user *)argument;
	long result = -ENOTTY;

	mutex_lock(&card->lock);
	if (!card->pdev)
		result = -ENODEV;
	else if (request == FRAMELANE_PCIE_INFO)
		result = do_info(card, where);
	else if (request == FRAMELANE_PCIE_MAP)
		result = do_map(card, where);
	else if (request == FRAMELANE_PCIE_UNMAP)
		result = do_unmap(card, where);
	else if (request == FRAMELANE_PCIE_INTERRUPT)
		result = do_interrupt(card, where);
	mutex_unlock(&card->lock);
	return result;
}

static int card_mmap(struct file *file, struct vm_area_struct *area)
{
	struct card *card = file->private_data;
	unsigned long bar = area->vm_pgoff >> (FRAMELANE_PCIE_BAR_SHIFT - PAGE_SHIFT);
	unsigned long first = area->vm_pgoff & ((1UL << (FRAMELANE_PCIE_BAR_SHIFT - PAGE_SHIFT)) - 1);
	unsigned long pages = vma_pages(area);
	int error = -EINVAL;

	mutex_lock(&card->lock);
	if (!card->pdev) {
		error = -ENODEV;
	} else if (bar < PCI_STD_NUM_BARS && (pci_resource_flags(card->pdev, bar) & IORESOURCE_MEM) &&
		   first + pages <= pci_resource_len(card->pdev, bar) >> PAGE_SHIFT) {
		area->vm_page_prot = pgprot_noncached(area->vm_page_prot);
		error = io_remap_pfn_range(area, area->vm_start,
					   (pci_resource_start(card->pdev, bar) >> PAGE_SHIFT) + first,
					   pages << PAGE_SHIFT, area->vm_page_prot);
	}
	mutex_unlock(&card->lock);
	return error;
}

/* The card writes no more, then loses what was mapped. */
static void quiet(struct card *card)
{
	struct mapping *m, *next;

	pci_clear_master(card->pdev);
	end_interrupt(card);
	list_for_each_entry_safe(m, next, &card->mappings, list) {
		list_del(&m->list);
		mapping_end(&card->pdev->dev, m);
	}
}

static int card_open(struct inode *inode, struct file *file)
{
	struct card *card = container_of(file->private_data, struct card, misc);
	int error = 0;

	mutex_lock(&card->lock);
	if (!card->pdev)
		error = -ENODEV;
	else if (card->open)
		error = -EBUSY;
	if (!error) {
		kref_get(&card->users);
		card->open = true;
		card->space = file->f_mapping;
		file->private_data = card;
		pci_set_master(card->pdev);
	}
	mutex_unlock(&card->lock);
	return error;
}

static int card_release(struct inode *inode, struct file *file)
{
	struct card *card = file->private_data;

	mutex_lock(&card->lock);
	if (card->pdev)
		quiet(card);
	card->open = false;
	card->space = NULL;
	mutex_unlock(&card->lock);
	kref_put(&card->users, card_free);
	return 0;
}

static const struct file_operations card_operations = {
	.owner = THIS_MODULE,
	.open = card_open,
	.release = card_release,
	.unlocked_ioctl = card_ioctl,
	.mmap = card_mmap,
};

static int card_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct card *card;
	int error = pcim_enable_device(pdev);

	if (error)
		return error;
	error = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(55)); /* what the engine's page table holds */
	if (error)
		return error;
	dma_set_max_seg_size(&pdev->dev, UINT_MAX);
	card = kzalloc(sizeof(*card), GFP_KERNEL);
	if (!card)
		return -ENOMEM;
	kref_init(&card->users);
	mutex_init(&card->lock);
	INIT_LIST_HEAD(&card->mappings);
	card->pdev = pdev;
	snprintf(card->name, sizeof(card->name), "framelane_pcie-%s", pci_name(pdev));
	card->misc = (struct miscdevice){
		.minor = MISC_DYNAMIC_MINOR, .name = card->name, .fops = &card_operations, .parent = &pdev->dev, .mode = 0600,
	};
	pci_set_drvdata(pdev, card);
	error = misc_register(&card->misc);
	if (error)
		kref_put(&card->users, card_free);
	return error;
}

static void card_remove(struct pci_dev *pdev)
{
	struct card *card = pci_get_drvdata(pdev);

	misc_deregister(&card->misc);
	mutex_lock(&card->lock);
	quiet(card);
	if (card->space)
		unmap_mapping_range(card->space, 0, 0, 1);
	card->pdev = NULL;
	mutex_unlock(&card->lock);
	kref_put(&card->users, card_free);
}

static struct pci_driver card_driver = {
	.name = "framelane_pcie",
	.probe = card_probe,
	.remove = card_remove,
};
module_pci_driver(card_driver);

MODULE_DESCRIPTION("Cards that write into memory of a program, or of a GPU by dma-buf");
MODULE_LICENSE("GPL");
