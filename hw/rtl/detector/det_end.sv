// What is sent of a frame of a module that is over: its mask, then its trailer, one packet of 64 bytes each.
module det_end
  import det_pkg::*;
  import framelane_pkg::trailer_t;
#(
    parameter int unsigned DataW       = 512,
    parameter int unsigned ModuleBytes = 1048576,  // of a module's image

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input logic [7:0] first_source_i,  // id of module 0 as a source

    input  end_t s_axis_end_tdata,
    input  logic s_axis_end_tvalid,
    output logic s_axis_end_tready,

    output logic [DataW-1:0] m_axis_mask_tdata,
    output logic [KeepW-1:0] m_axis_mask_tkeep,
    output logic             m_axis_mask_tlast,
    output logic             m_axis_mask_tvalid,
    input  logic             m_axis_mask_tready,
    output logic [DataW-1:0] m_axis_trailer_tdata,
    output logic [KeepW-1:0] m_axis_trailer_tkeep,
    output logic             m_axis_trailer_tlast,
    output logic             m_axis_trailer_tvalid,
    input  logic             m_axis_trailer_tready
);

  localparam int unsigned MASK_W = 512;
  localparam logic [31:0] MAGIC = 32'h314d4c46;  // "FLM1" on the wire
  localparam logic [15:0] VERSION = 16'd1;
  localparam int unsigned BEATS = (MASK_W + DataW - 1) / DataW;
  localparam int unsigned COUNT_W = BEATS > 1 ? $clog2(BEATS) : 1;

  // The first field on the wire is the least significant (docs/integrating/detector.md)
  typedef struct packed {
    logic [255:0] mask;
    logic [63:0]  detector_frame;
    logic [63:0]  frame_number;
    logic [15:0]  reserved1;
    logic [15:0]  packets;
    logic [15:0]  reserved0;
    logic [15:0]  slot;
    logic [15:0]  source;
    logic [15:0]  version;
    logic [31:0]  magic;
  } wire_t;

  end_t over;
  wire_t words;
  trailer_t fields;
  logic [BEATS*DataW-1:0] lanes;
  logic [COUNT_W-1:0] beat_q;
  logic valid, mask_done_q, trailer_done_q, trailer_ready;
  logic [15:0] source;

  axis_reg #(
      .DataW($bits(end_t))
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata (s_axis_end_tdata),
      .s_axis_tvalid(s_axis_end_tvalid),
      .s_axis_tready(s_axis_end_tready),
      .m_axis_tdata (over),
      .m_axis_tvalid(valid),
      .m_axis_tready(mask_done_q && trailer_done_q)
  );

  assign source = 16'(8'(first_source_i + over.module_number));

  always_comb begin
    words = '{
        mask: over.mask,
        detector_frame: over.detector_frame,
        frame_number: over.frame_number,
        reserved1: '0,
        packets: over.packets,
        reserved0: '0,
        slot: over.slot,
        source: source,
        version: VERSION,
        magic: MAGIC
    };
    fields = '{
        time_flags: '0,  // the detector's own time
        detector_frame: over.detector_frame,
        frames_dropped: over.frames_dropped,
        packets: 32'(over.packets),
        payload_bytes: 32'(ModuleBytes),
        bunch_id: over.bunch_id,
        timestamp_ns: over.timestamp_ns,
        frame_number: over.frame_number,
        slot: 32'(over.slot),
        source: source
    };
    lanes = '0;
    lanes[MASK_W-1:0] = words;
  end

  assign m_axis_mask_tdata = lanes[32'(beat_q)*DataW+:DataW];
  assign m_axis_mask_tkeep = KeepW'({64{1'b1}});
  assign m_axis_mask_tlast = beat_q == COUNT_W'(BEATS - 1);
  assign m_axis_mask_tvalid = valid && !mask_done_q;

  always_ff @(posedge clk) begin
    if (m_axis_mask_tvalid && m_axis_mask_tready) begin
      beat_q <= m_axis_mask_tlast ? '0 : beat_q + 1'b1;
      mask_done_q <= m_axis_mask_tlast;
    end
    if (valid && trailer_ready) trailer_done_q <= 1'b1;
    if (rst || (mask_done_q && trailer_done_q)) begin
      mask_done_q <= 1'b0;
      trailer_done_q <= 1'b0;
    end
    if (rst) beat_q <= '0;
  end

  trailer #(
      .DataW(DataW)
  ) u_trailer (
      .clk,
      .rst,
      .s_axis_trailer_tdata (fields),
      .s_axis_trailer_tvalid(valid && !trailer_done_q),
      .s_axis_trailer_tready(trailer_ready),
      .m_axis_tdata         (m_axis_trailer_tdata),
      .m_axis_tkeep         (m_axis_trailer_tkeep),
      .m_axis_tlast         (m_axis_trailer_tlast),
      .m_axis_tvalid        (m_axis_trailer_tvalid),
      .m_axis_tready        (m_axis_trailer_tready)
  );

endmodule
