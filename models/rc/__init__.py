"""Models of the RC service and its congestion control."""
