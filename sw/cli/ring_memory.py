"""Where the ring of `framelane recv` is: memory of the host, pinned or not, or of a GPU."""

from typing import Any

from framelane.cli.live_transport import RingMemory
from framelane.cli.recv_options import RecvOptions
from framelane.cli.recv_pipeline import check_pixels, gpu_library
from framelane.models.session import Session
from framelane.models.session_plan import SessionPlan
from framelane.receiver.memory import host_memory


def ring_memory(options: RecvOptions) -> RingMemory:
    """The memory that the options want. Whatever needs no GPU is checked before the GPU is asked."""

    def make(of: Session | SessionPlan) -> Any:
        check_pixels(options, of.pixels)
        size, huge_pages = of.layout.ring_bytes, options.live.huge_pages
        if not options.gpu:
            return host_memory(size, huge_pages)
        gpu_library()  # says what is missing, if anything is
        from framelane.receiver.gpu.memory import gpu_memory, pinned_memory

        return gpu_memory(size) if options.live.ring == "gpu" else pinned_memory(size, huge_pages)

    return make
