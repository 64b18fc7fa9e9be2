// A detector's own UDP packets on their way into the slots of a ring: what passes between the blocks (docs/integrating/detector.md).
package det_pkg;

  // A number in a header: a parameter of 32 bits each. Model: detector_packets.HeaderField.
  typedef struct packed {
    logic [15:0] offset;  // of its first byte, behind the UDP header
    logic [7:0]  width;   // bytes, 1 to 8; 0: there is no such field, it reads as 0
    logic [7:0]  big;     // 1: its first byte is the highest, else the lowest
  } field_t;

  // What travels beside a UDP payload, the same in all of its beats.
  typedef struct packed {
    logic [15:0] bytes;   // as the UDP header says
    logic [7:0]  stream;  // its port, counted from the first one on
  } datagram_t;

  // One packet of a detector, by its header. Model: det_header.Head.
  typedef struct packed {
    logic [63:0] identity;   // the same in all packets of one port
    logic [63:0] bunch_id;
    logic [63:0] timestamp;  // in units of the detector
    logic [63:0] number;     // of the frame
    logic [15:0] packet;     // of the module
    logic        port;       // of the module: 0 or 1
    logic [7:0]  module_number;
  } head_t;

  // What becomes of a packet: the first that applies. Model: det_header.DetFate.
  typedef enum logic [3:0] {
    FATE_PLACED = 4'd0,
    FATE_SIZE = 4'd1,       // another length than the detector's
    FATE_CONSTANT = 4'd2,   // a constant of the header is another
    FATE_PACKET = 4'd3,     // a packet number that a port does not send
    FATE_MODULE = 4'd4,     // of no module
    FATE_FULL = 4'd5,       // no room for it in the queue
    FATE_BAD = 4'd6,        // wrong FCS, or cut, or longer than it says
    FATE_NUMBER = 4'd7,     // a frame number too far ahead
    FATE_LATE = 4'd8,       // of a frame that is over
    FATE_CREDIT = 4'd9,     // of a frame for which there was no slot
    FATE_FOREIGN = 4'd10,   // another identity than the first packet of this frame on the same port
    FATE_DUPLICATE = 4'd11  // it is there already
  } det_fate_e;

  localparam int unsigned FATES = 12;

  // What is done for a packet, in the order of packets. Model: det_place.Kind.
  typedef enum logic [1:0] {
    ITEM_PIXELS = 2'd0,  // its pixels go to the address
    ITEM_DROP = 2'd1,    // its pixels are dropped
    ITEM_HOLES = 2'd2,   // they were not whole: holes go to the address
    ITEM_END = 2'd3      // a frame of a module is over: its mask and its trailer are sent
  } item_kind_e;

  // A frame of a module that is over. Model: det_place.End.
  typedef struct packed {
    logic [255:0] mask;             // bit p: packet p has been placed
    logic [15:0]  packets;          // how many
    logic [63:0]  frames_dropped;   // of this module, for want of credit
    logic [63:0]  detector_frame;
    logic [63:0]  bunch_id;
    logic [63:0]  timestamp_ns;
    logic [63:0]  frame_number;     // of the ring
    logic [15:0]  slot;
    logic [7:0]   module_number;
  } end_t;

  // The address is of pixels, or of the frame's slot.
  typedef struct packed {
    item_kind_e  kind;
    logic [63:0] address;
  } item_t;

  // Where frames go, steady while armed. Lengths and offsets in bytes.
  typedef struct packed {
    logic [31:0] mask_offset;     // in the slot: of the mask of module 0, 64 bytes a module
    logic [31:0] trailer_offset;  // of its trailer, 64 bytes a module
    logic [31:0] reach;           // how far ahead a frame number may be
    logic [63:0] first;           // the detector's number of frame 0
    logic        learn;           // or that of the first packet that is placed
    logic [63:0] base;            // of slot 0
    logic [31:0] slot_bytes;      // a multiple of 4096
    logic [4:0]  slots_log2;      // at most 16
    logic [7:0]  first_source;    // id of module 0 as a source
    logic [7:0]  qp;              // index of the QP
  } target_t;

endpackage
