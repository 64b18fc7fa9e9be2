// Types of the transmitter's control path (docs/architecture.md, Contracts). flow_t and destination_t lie as their registers do.
package framelane_pkg;
  // Copies of the core's reset, always equal, each for a part of it: bd_gen, the payload, roce_tx, rc_requester, the rest of RC.
  localparam int unsigned CORE_RESETS = 5;
  localparam int unsigned RC_RESETS = 2;
  localparam int unsigned STATION_RESETS = 2;

  // What a frame's timestamp_ns is worth (docs/architecture.md, Trailer), and what the clock is. Model: time_flags.TimeFlags.
  typedef struct packed {
    logic [15:0] tai_utc;     // signed
    logic [7:0]  accuracy;    // clockAccuracy of IEEE 1588
    logic        reserved;
    logic        of_trigger;  // timestamp_ns is of the trigger, else of the first pixel; 0 of a clock
    logic        holdover;
    logic        utc_known;
    logic [1:0]  source;
    logic        locked;
    logic        stamped;     // timestamp_ns is of the board's clock; 0 of a clock
  } time_flags_t;

  // Whose time a frame's timestamp is. Model: frame_stamp.Stamp.
  typedef enum logic [1:0] {
    STAMP_OWN = 2'd0,     // as it is brought
    STAMP_PIXEL = 2'd1,   // of its first pixel
    STAMP_TRIGGER = 2'd2  // of the last trigger before that
  } stamp_e;

  // A frame that lies complete in the source's memory. Model: flow.FrameEvent.
  typedef struct packed {
    time_flags_t time_flags;    // 0: nothing is known
    logic [2:0]  kind;          // by the detector's plan: exposed, dark, ...
    logic [63:0] kind_index;    // frames of this kind before it
    logic [63:0] bunch_id;
    logic [63:0] timestamp_ns;
    logic [63:0] number;
    logic [63:0] address;
  } frame_t;

  // What the detector says of a frame as it begins.
  typedef struct packed {
    time_flags_t time_flags;  // 0 but of a detector with a clock of TAI
    logic [2:0]  kind;
    logic [63:0] bunch_id;
    logic [63:0] timestamp_ns;
    logic [63:0] number;
  } frame_info_t;

  // Which frames, which rectangle of them, and to which destinations. Model: flow.Flow. Pitches, offsets, lengths in bytes.
  typedef struct packed {
    logic [15:0] reserved1;
    logic [15:0] descriptors;        // of a frame, for RC; 0: unknown
    logic [31:0] max_length;         // of a descriptor
    logic [31:0] destination_pitch;
    logic [15:0] y1;                 // place in the destination, in pixels and lines
    logic [15:0] x1;
    logic [31:0] source_offset;      // of the image, behind the frame's address
    logic [31:0] source_pitch;
    logic [15:0] height;
    logic [15:0] width;
    logic [15:0] y0;                 // place in the source
    logic [15:0] x0;
    logic [63:0] count;              // frames at most, 0: no limit
    logic [31:0] burst;              // frames taken in each period
    logic [31:0] period;
    logic [63:0] first;
    logic [31:0] bunch;              // frames in a row to one destination
    logic [7:0]  destinations;       // served in turn
    logic [7:0]  first_destination;  // index in their table
    logic [7:0]  source;             // id of this source, in trailer and immediate
    logic [1:0]  reserved0;
    logic        wide;               // pixels of 4 bytes, else of 2
    logic [2:0]  kind;
    logic        by_kind;            // only frames of this kind, numbered among themselves
    logic        enabled;
  } flow_t;

  // One receiver's ring. Model: flow.Destination. Lengths and offsets in bytes.
  typedef struct packed {
    logic [63:0] window_end;      // credit: frame n may be sent only if n < window_end
    logic [31:0] trailer_offset;  // of this source's trailer in its slot
    logic [31:0] n_slots;
    logic [63:0] base;            // virtual address of slot 0
    logic [31:0] slot_bytes;
    logic [15:0] reserved1;
    logic [7:0]  qp;              // index of the QP
    logic [6:0]  reserved0;
    logic        enabled;
  } destination_t;

  // Why a frame that a flow had selected is not sent, beside want of credit. Model: flow.Refusal.
  typedef enum logic [7:0] {
    BAD_FLOW = 8'd1,         // a size, period, burst, bunch, number or length of 0, or lines that overlap
    BAD_DESTINATION = 8'd2,  // outside the table, not enabled, or without slots
    BACKWARDS = 8'd3,        // its number is not above that of the frame before
    OUTSIDE = 8'd4           // the rectangle or the trailer does not fit the slot
  } refusal_e;

  // A frame that is refused.
  typedef struct packed {
    logic [63:0] number;       // of the detector
    logic [7:0]  destination;
    logic [7:0]  flow;
    refusal_e    reason;
  } refusal_t;

  // A frame for one destination, before its place is known, or the end of a frame that all flows have seen.
  typedef struct packed {
    logic        over;   // the end: nothing else counts
    logic        bad;    // the flow cannot be served
    logic [63:0] index;  // of the frame among those that the flow takes
    logic [7:0]  id;     // of the flow
    flow_t       flow;
    frame_t      frame;
  } chosen_t;

  // Fields of the trailer that change with the frame; trailer.sv adds the others. Model: trailer.Trailer.
  typedef struct packed {
    time_flags_t time_flags;
    logic [63:0] detector_frame;
    logic [63:0] frames_dropped;
    logic [31:0] packets;
    logic [31:0] payload_bytes;
    logic [63:0] bunch_id;
    logic [63:0] timestamp_ns;
    logic [63:0] frame_number;
    logic [31:0] slot;
    logic [15:0] source;
  } trailer_t;

  // Rows with all their addresses, one where they are contiguous on both sides, and the trailer (packets still 0); or the
  // end of a frame. Model: bd_place.Placed.
  typedef struct packed {
    logic        over;
    logic [7:0]  destination_index;
    logic [7:0]  qp;
    logic [31:0] max_length;
    logic [15:0] rows;
    logic [31:0] row_bytes;
    logic [31:0] source_pitch;
    logic [31:0] destination_pitch;
    logic [63:0] source;
    logic [63:0] destination;
    logic [63:0] trailer_at;
    trailer_t    trailer;
  } placed_t;

  // Descriptor: one transfer from memory to memory. Model: bd_rows.Descriptor.
  typedef struct packed {
    logic [31:0] imm;
    logic        last;              // ends a frame: the trailer, which carries imm and is not read from memory
    logic [7:0]  destination_index;
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

  // A number to be added to a counter, by its index in tx_counters_pkg.
  typedef struct packed {
    logic [63:0] amount;
    logic [15:0] index;
  } count_t;

  // How frames are corrected on their way to the frame store. Bytes. Model: image_writer.Correction.
  typedef struct packed {
    logic [31:0] offset;       // of the corrected image, in the slot
    logic [31:0] image_bytes;  // of a raw image
    logic [31:0] pitch;        // of the constants, from plane to plane
    logic [63:0] base;         // of the constants
    logic [2:0][4:0] shift;    // by stage
    logic guard;               // gain code 10, which means "never written", becomes the error word in both images
    logic high_gain;           // the first stage is HG0
    logic enabled;
  } correction_t;

  // What the transmitter tells a frame store. Bytes.
  typedef struct packed {
    logic        rst;         // the core's
    logic        armed;
    logic        aborting;    // a reset is under way: nothing new begins
    logic        drain;       // and does not wait for memory
    logic [15:0] memory_limit;  // how long memory may stand still, in 2^16 cycles
    logic [63:0] base;
    logic [31:0] slot_bytes;
    logic [15:0] slots;
    correction_t correction;
  } store_control_t;

  // What a frame store tells the transmitter: that it is idle, and events.
  typedef struct packed {
    logic idle;            // 1 where there is none
    logic lost;            // a frame was lost there
    logic bad;             // a frame did not fit there, or its memory refused it
    logic ignored;         // a frame passed while not armed
    logic mismatch;        // a frame was shorter or longer than its constants
    logic constant_error;  // a beat of constants came with an error
    logic stall;           // a beat of pixels waits
    logic stuck;           // memory has stood still for too long
    logic owes;            // memory owes data or answers
    logic left;            // and nobody waits for them any more
    logic timeout;         // pulse: from now on
  } store_report_t;

  // What a mac_port tells the transmitter: pulses, one a packet.
  typedef struct packed {
    logic tx_underrun;
    logic tx_too_long;
    logic rx_bad;
    logic rx_lost;
  } mac_report_t;

endpackage
