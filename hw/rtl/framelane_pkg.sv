// Types of the transmitter's control path (docs/architecture.md, Contracts).
package framelane_pkg;

  // A frame that lies complete in the source's memory. Model: bd_gen.FrameEvent.
  typedef struct packed {
    logic [63:0] bunch_id;
    logic [63:0] timestamp_ns;
    logic [63:0] number;
    logic [63:0] address;
  } frame_t;

  // One stream of frames to one receiver. Model: bd_gen.Flow. Lengths and offsets in bytes.
  typedef struct packed {
    logic [7:0]  qp;              // index of the QP
    logic [7:0]  source;          // id of this source, in trailer and immediate
    logic [30:0] image_bytes;
    logic [63:0] base;            // virtual address of slot 0
    logic [31:0] slot_bytes;
    logic [31:0] n_slots;
    logic [31:0] trailer_offset;  // of this source's trailer in its slot
  } flow_t;

  // Descriptor: one transfer from memory to memory. Model: bd_gen.Descriptor.
  typedef struct packed {
    logic [31:0] imm;
    logic        last;         // ends a frame: the trailer, which carries imm and is not read from memory
    logic [7:0]  qp;
    logic [31:0] length;
    logic [63:0] destination;
    logic [63:0] source;
  } bd_t;

  // One transfer from memory to a stream, in bytes.
  typedef struct packed {
    logic [31:0] length;
    logic [63:0] address;
  } read_t;

  // Fields of the trailer that change with the frame; trailer.sv adds the others. Model: trailer.Trailer.
  typedef struct packed {
    logic [63:0] frames_dropped;
    logic [31:0] packets;
    logic [31:0] payload_bytes;
    logic [63:0] bunch_id;
    logic [63:0] timestamp_ns;
    logic [63:0] frame_number;
    logic [31:0] slot;
    logic [15:0] source;
  } trailer_t;

endpackage
