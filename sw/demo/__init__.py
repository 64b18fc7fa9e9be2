"""The demo: a detector frame through the gateware, over a wire, to a picture."""
