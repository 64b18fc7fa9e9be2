// An Ethernet frame on GMII (IEEE 802.3).
package gmii_pkg;

  import crc32_pkg::*;

  localparam logic [7:0] PREAMBLE = 8'h55;  // 3.2.1: seven of them
  localparam logic [7:0] SFD = 8'hd5;  // 3.2.2
  localparam int unsigned START_BYTES = 8;  // both together
  localparam int unsigned FCS_BYTES = 4;  // 3.2.9
  localparam int unsigned GAP_BYTES = 12;  // 4.4.2: interPacketGap, 96 bits
  localparam int unsigned MIN_BYTES = 64;  // 4.4.2: minFrameSize, with the FCS
  localparam crc_t CRC_START = '1;  // 3.2.9 a
  localparam crc_t CRC_RIGHT = 32'hdebb20e3;  // the state behind a frame with a right FCS

  // The state after one more byte.
  function automatic crc_t crc_after(input crc_t state, input logic [7:0] data);
    crc_t next;
    next = state ^ 32'(data);
    for (int unsigned k = 0; k < 8; k++) next = forward(next);
    return next;
  endfunction

endpackage
