// Types of the PCIe write path. Section numbers are those of the PCI Express Base Specification 5.0.
package pcie_pkg;

  localparam int unsigned OFFSET_W = 38;  // a ring has at most 2^38 bytes: 131,072 pages of 2 MiB
  localparam int unsigned NUMBER_W = 43;  // a page's number on the bus, in units of 4 KiB: addresses below 2^55
  localparam int unsigned ENTRY_W = NUMBER_W + 2;

  // How a write ended. Model: tlp_split.Status.
  typedef enum logic [3:0] {
    OK = 4'd0,
    BAD_LENGTH = 4'd1,   // 0 bytes
    OUTSIDE = 4'd2,      // bytes behind the ring's end
    NO_PAGE = 4'd3,      // a page is not in the table
    BAD_PARITY = 4'd4,   // an entry of the table has a bit changed
    SHORT = 4'd5,        // the payload ended too early
    LONG = 4'd6,         // the payload went on
    BAD_PAYLOAD = 4'd7,  // payload came with errors
    UNANSWERED = 4'd8,   // of a frame's event: its fence had no completion in time
    LINK_DOWN = 4'd9,    // the link was down, or its port stood still: nothing is sent any more
    FENCE_REFUSED = 4'd10  // of a frame's event: its fence's completion was an error
  } status_e;

  // A read of no bytes: its completion comes when all writes before it, on the same way, have arrived (2.2.5, 2.4.1).
  typedef struct packed {
    logic       read;
    logic [4:0] tag;   // of its completion
  } fence_t;

  // One descriptor: so many bytes to the ring's byte `offset`, or a fence there, of one byte. Model: tlp_split.Write.
  typedef struct packed {
    fence_t      fence;
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
    fence_t      fence;    // if it is one: a read of one doubleword, no byte of it enabled, and no data
    logic [63:0] address;  // of the first doubleword
    logic [7:0]  dwords;   // 1 to 128
    logic [3:0]  last_be;
    logic [3:0]  first_be;
  } request_t;

  // One TLP on its way to its payload: its address is the ring's, behind page_map the bus's.
  typedef struct packed {
    status_e     status;      // not OK: nothing of it is sent
    logic        refused;     // the descriptor: its payload is dropped
    logic        empty;       // no payload comes for the descriptor
    logic        ends;        // its descriptor
    logic        final_read;  // takes the last payload beat of its descriptor
    logic [5:0]  tail;        // last lane of that beat
    logic        reads_last;  // its own last beat takes a payload beat
    logic [5:0]  earlier;     // lanes of each of its beats that the payload beat before has
    logic [4:0]  beats;       // behind its first
    request_t    request;
  } tlp_t;

  // What goes into an event's entry beside the trailer. Model: event_queue.entry.
  typedef struct packed {
    logic    lost;    // there is no event: the trailer is only forgotten
    logic    phase;
    status_e status;
  } event_mark_t;

  // What goes with each beat of the port.
  typedef struct packed {
    logic poisoned;  // counts with tlast: the TLP has wrong bytes, and has to be nullified
    request_t request;
  } tlp_user_t;

  // Interrupts. The entry of the MSI-X table, and when events make one.
  typedef struct packed {
    logic        enabled;
    logic        masked;
    logic [63:0] address;
    logic [31:0] data;
    logic [15:0] events;   // so many; 0 as 1
    logic [15:0] delay;    // in 256 cycles, behind the first of them; 0: no limit
  } msix_t;

  // Buffers that software posts for packets of a source that knows no ring. Model: posted_buffers.PostedBuffers.
  typedef struct packed {
    logic [7:0]  source;      // id in the trailers
    logic [25:0] base;        // of the first, in units of 4 KiB of the ring
    logic [4:0]  size_log2;
    logic [4:0]  count_log2;
    logic [31:0] posted;      // so many in all, modulo 2^32
  } buffers_t;

  // What software tells an engine: fields as in pcie_regs.rdl.
  typedef struct packed {
    logic        map_write;  // pulse
    logic [16:0] map_index;
    entry_t      map_entry;
    logic        restart;    // pulse
    mps_e        mps;
    logic [4:0]  page_log2;
    logic [17:0] pages;
    logic        events;
    logic [63:0] event_base;
    logic [4:0]  event_log2;
    logic [31:0] event_consumed;
    logic        fence;
    logic [23:0] fence_limit;
    logic [15:0] watchdog;
    msix_t       msix;
    logic        packets;    // packets are taken
    buffers_t    buffers;
  } pcie_control_t;

  // What an engine tells software.
  typedef struct packed {
    logic        link;
    logic        idle;
    logic        failed;
    logic        restarting;
    mps_e        mps;             // in force
    logic [31:0] event_produced;
    logic        msix_pending;
    logic        packets;         // are taken
    logic [31:0] buffers_used;
  } pcie_report_t;

endpackage
