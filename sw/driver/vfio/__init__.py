"""PCI devices in a user's program, by VFIO: memory, registers, interrupt; an IOMMU guards the rest."""
