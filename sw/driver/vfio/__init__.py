"""PCI devices in a user's program, by VFIO: their memory, their registers, their interrupt; an IOMMU guards the rest."""
