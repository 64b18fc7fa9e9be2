"""Why faults that no test catches cannot be seen: each was looked at."""

EXPLAINED: dict[tuple[str, str, str], str] = {
    ("roce_join", "waited_q <= '0;", "waited_q <= '1;"): (
        "at reset: no header waits then, and a cycle without one clears it again"
    ),
    (
        "roce_pacer",
        "logic filling1_q = 1'b0, filling2_q = 1'b0, filling3_q = 1'b0;  // from the first turn on",
        "logic filling1_q = 1'b1, filling2_q = 1'b0, filling3_q = 1'b0;  // from the first turn on",
    ): "for simulators that start registers at X: here, as in an FPGA, what would be written too early is zero",
    ("roce_pacer", "if (rst) begin", "if (1'b0) begin"): (
        "a reset within two cycles of a packet's start may forget what it owes, and no packet is left to tell"
    ),
    (
        "cdc_axil",
        "rready: m_state_q == ISSUE && !word_q.write",
        "rready: m_state_q == ISSUE || !word_q.write",
    ): "a slave gives rvalid only for a read that it was asked for",
    ("tlp_split", "((OFFSET_W - LOG2)'(1) << step_q);", "((OFFSET_W + LOG2)'(1) << step_q);"): (
        "a wider 1: the sum is cut to the same bits"
    ),
    ("udp_match", "if (rst) matches_q <= 1'b0;", "if (rst) matches_q <= 1'b1;"): (
        "at reset: nothing leaves before its own header is judged, and that writes it"
    ),
    ("axil_turns", "whose_q <= 1'b0;", "whose_q <= 1'b1;"): (
        "which of two that ask in the same cycle behind a reset has its turn first: the other one has the next"
    ),
    ("ptp_send", "beat_q  <= '0;", "beat_q  <= '1;"): (
        "at reset: nothing is sent then, and a cycle in which nothing is sent clears it"
    ),
    ("qp_commit", "index_q <= '0;", "index_q <= '1;"): (
        "at reset: it is idle then, and while it is idle it follows what is asked for"
    ),
    ("cdc_word", "logic asked_q = 1'b0;", "logic asked_q = 1'b1;"): "the zeros of the start are handed over once",
    ("vlan_insert", "data = {32'd0, held_q};", "data = {32'd1, held_q};"): "bytes without tkeep: nobody reads them",
    ("mac_rx", ".s_axis_tuser (1'b0),", ".s_axis_tuser (1'b1),"): "a mark that is not connected where it comes out",
    ("mac_tx", ".Block(1'b1)", ".Block(1'b0)"): "in which kind of memory packets wait: they wait alike",
    ("tx_station", ".s_axis_data_tuser    (1'b0),", ".s_axis_data_tuser    (1'b1),"): (
        "a mark on packets that are merged: where they come out it is not connected"
    ),
    ("neighbour", "tick_q   <= 1'b0;", "tick_q   <= 1'b1;"): (
        "a reset counts as one millisecond more: all that waits for these begins with a time of its own"
    ),
    ("time_cross", "count_q <= '0;", "count_q <= '1;"): (
        "a reset moves the first measurement by a cycle: until then the time is anything"
    ),
    ("pcie_lane", "restart_q <= '0;", "restart_q <= '1;"): (
        "at reset: the engine stays in reset a cycle longer, in which nothing can come yet"
    ),
    ("roce_rx", "counts1_q <= 1'b0;", "counts1_q <= 1'b1;"): (
        "at reset: it is the sum of no packet, and the first beat of one begins it anew"
    ),
    (
        "reception",
        "yield from self._all(self._timed(self._receiver.poll(0)))",
        "yield from self._all(self._timed(self._receiver.poll(1)))",
    ): "a capture has all its packets: nothing is waited for, however long that may take",
    (
        "hdf5",
        "pixels, rows = self._session.rows * self._session.columns, 8 * (self._session.rows + 1)",
        "pixels, rows = self._session.rows * self._session.columns, 8 * (self._session.rows + 2)",
    ): "about how much room is held back on the disk",
    (
        "receiver",
        "if found and found.frame_number == number:",
        "if found or found.frame_number == number:",
    ): "where a later frame is in the slot, its source's count is only newer, and its own trailer tells it as well",
    (
        "session/link_key",
        'model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)',
        'model_config = ConfigDict(frozen=False, extra="forbid", hide_input_in_errors=True)',
    ): "nobody keeps what was read: a LinkKey is made of it at once",
    ("files/growing_hdf5", "self._stop()", "pass"): (
        "in `leave`: `discard`, which comes next, stops the commits, and a file that is frozen has no more of them"
    ),
    ("doctor/qp_state", "self._drop = True", "pass"): (
        "behind a FIRST or ONLY that is refused for itself: what follows is of no message, and is dropped for that"
    ),
    (
        "doctor/host/filters",
        'values = [system.number(f"{_CONF}/{name}/rp_filter") or 0 for name in ("all", interface)]',
        'values = [system.number(f"{_CONF}/{name}/rp_filter") or 0 for name in (interface, "all")]',
    ): "the higher of the two counts, whichever is read first",
    ("doctor/live", "_MOST_BYTES = 512 << 20", "_MOST_BYTES = 513 << 20"): "about how much memory may be taken",
    (
        "doctor/live",
        "with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sock:",
        "with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 1) as sock:",
    ): "no frame has this protocol, and it is bound to all of them next",
    (
        "doctor/live",
        "tpid = tpid if status & _VLAN_TPID_VALID else 0x8100",
        "tpid = tpid if status | _VLAN_TPID_VALID else 0x8100",
    ): "for kernels before 3.14, which do not tell the TPID",
    (
        "doctor/diagnosis",
        "self._offset = packet.reth.address - self._target.base if packet.reth.length else 0",
        "self._offset = packet.reth.address - self._target.base if packet.reth.length else 1",
    ): "a message of no bytes is written nowhere",
    (
        "doctor/ethernet",
        "if packet.ethertype not in (ETHERTYPE_IPV4, -1):",
        "if packet.ethertype not in (-1, ETHERTYPE_IPV4):",
    ): "one of two numbers, in whatever order",
    (
        "doctor/capture",
        "if kind == _INTERFACE and len(body) >= 8:",
        "if kind == _INTERFACE and len(body) >= 7:",
    ): "the length of a block is a multiple of 4",
    ("doctor/gathered", "last: int = 0", "last: int = 1"): "whoever makes a group says its last packet at once",
}
"""By block or module, line without margin, and the line that it became."""
