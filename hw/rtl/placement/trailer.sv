// Lays the trailer of a frame on a stream of any width: 64 bytes, little endian (docs/architecture.md, Trailer).
module trailer
  import framelane_pkg::trailer_t;
#(
    parameter int unsigned DataW = 512,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input  trailer_t s_axis_trailer_tdata,
    input  logic     s_axis_trailer_tvalid,
    output logic     s_axis_trailer_tready,

    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready
);

  localparam int unsigned TRAILER_W = 512;
  localparam logic [31:0] MAGIC = 32'h31544c46;  // "FLT1" on the wire
  localparam logic [15:0] VERSION = 16'd1;
  localparam int unsigned BEATS = (TRAILER_W + DataW - 1) / DataW;
  localparam int unsigned COUNT_W = BEATS > 1 ? $clog2(BEATS) : 1;

  // The first field of the wire format is the least significant.
  typedef struct packed {
    logic [63:0] detector_frame;
    logic [63:0] frames_dropped;
    logic [31:0] packets;
    logic [31:0] payload_bytes;
    logic [63:0] bunch_id;
    logic [63:0] timestamp_ns;
    logic [63:0] frame_number;
    logic [31:0] time_flags;
    logic [31:0] slot;
    logic [15:0] source;
    logic [15:0] version;
    logic [31:0] magic;
  } wire_t;

  wire_t words;
  logic [BEATS*DataW-1:0] lanes;
  logic [COUNT_W-1:0] beat_q;
  logic last, ready;

  always_comb begin
    words = '0;
    words.magic = MAGIC;
    words.version = VERSION;
    words.source = s_axis_trailer_tdata.source;
    words.slot = s_axis_trailer_tdata.slot;
    words.time_flags = s_axis_trailer_tdata.time_flags;
    words.frame_number = s_axis_trailer_tdata.frame_number;
    words.timestamp_ns = s_axis_trailer_tdata.timestamp_ns;
    words.bunch_id = s_axis_trailer_tdata.bunch_id;
    words.payload_bytes = s_axis_trailer_tdata.payload_bytes;
    words.packets = s_axis_trailer_tdata.packets;
    words.frames_dropped = s_axis_trailer_tdata.frames_dropped;
    words.detector_frame = s_axis_trailer_tdata.detector_frame;
    lanes = '0;
    lanes[TRAILER_W-1:0] = words;
  end

  assign last = beat_q == COUNT_W'(BEATS - 1);
  assign s_axis_trailer_tready = ready && last;

  axis_reg #(
      .DataW(DataW + KeepW + 1)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({last, KeepW'({64{1'b1}}), lanes[32'(beat_q)*DataW+:DataW]}),
      .s_axis_tvalid(s_axis_trailer_tvalid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .m_axis_tvalid,
      .m_axis_tready
  );

  always_ff @(posedge clk) begin
    if (s_axis_trailer_tvalid && ready) beat_q <= last ? '0 : beat_q + 1'b1;
    if (rst) beat_q <= '0;
  end

endmodule
