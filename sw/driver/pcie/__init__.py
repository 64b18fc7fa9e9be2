"""What drives a PCIe engine: its registers, its page table, and the device behind VFIO."""
