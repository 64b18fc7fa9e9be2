// Types of the PCIe write path. Section numbers are those of the PCI Express Base Specification 5.0.
package pcie_pkg;

  localparam int unsigned OFFSET_W = 38;  // a ring has at most 2^38 bytes: 131,072 pages of 2 MiB
  localparam int unsigned NUMBER_W = 43;  // a page's number on the bus, in units of 4 KiB: addresses below 2^55
  localparam int unsigned ENTRY_W = NUMBER_W + 2;

  // How a write ended. Model: tlp_split.Status.
  typedef enum logic [2:0] {
    OK = 3'd0,
    BAD_LENGTH = 3'd1,  // 0 bytes
    OUTSIDE = 3'd2,     // bytes behind the ring's end
    NO_PAGE = 3'd3,     // a page is not in the table
    BAD_PARITY = 3'd4,  // an entry of the table has a bit changed
    SHORT = 3'd5,       // the payload ended too early
    LONG = 3'd6,        // the payload went on
    BAD_PAYLOAD = 3'd7  // payload came with errors
  } status_e;

  // One descriptor: so many bytes to the ring's byte `offset`. Model: tlp_split.Write.
  typedef struct packed {
    logic [31:0] length;
    logic [63:0] offset;
  } write_t;

  // Max_Payload_Size, as the Device Control register has it (7.5.3.4).
  typedef enum logic [1:0] {
    MPS_128 = 2'd0,
    MPS_256 = 2'd1,
    MPS_512 = 2'd2
  } mps_e;

  // One entry of the page map. Model: page_map.entry.
  typedef struct packed {
    logic parity;  // even, of the whole entry
    logic present;
    logic [NUMBER_W-1:0] number;  // of the page on the bus, in units of 4 KiB
  } entry_t;

  // The header of a memory write request: what of it is not the same for all of an engine (2.2.7). Model: tlp_split.Tlp.
  typedef struct packed {
    logic [63:0] address;  // of the first doubleword
    logic [7:0]  dwords;   // 1 to 128
    logic [3:0]  last_be;
    logic [3:0]  first_be;
  } request_t;

  // One TLP on its way to its payload: its address is the ring's, behind page_map the bus's.
  typedef struct packed {
    status_e     status;      // not OK: nothing of it is sent
    logic        refused;     // the descriptor: its payload is dropped
    logic        empty;       // the descriptor has no bytes, and no payload comes
    logic        ends;        // its descriptor
    logic        final_read;  // takes the last payload beat of its descriptor
    logic [5:0]  tail;        // last lane of that beat
    logic        reads_last;  // its own last beat takes a payload beat
    logic [5:0]  earlier;     // lanes of each of its beats that the payload beat before has
    logic [4:0]  beats;       // behind its first
    request_t    request;
  } tlp_t;

  // What goes with each beat of the port.
  typedef struct packed {
    logic poisoned;  // counts with tlast: the TLP has wrong bytes, and has to be nullified
    request_t request;
  } tlp_user_t;

endpackage
