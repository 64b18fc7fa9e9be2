// Payload of descriptors and of the events among them, in the order of both. A trailer is kept as it passes: with the phase and how its frame
// ended it is the event's entry, later.
module event_join
  import pcie_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned Depth = 64,  // descriptors under way
    parameter int unsigned Events = 16,  // trailers kept

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    // Whose payload is next: an event's, or one packet of those that come in; `keeps`: which is a trailer whose event follows
    input  logic s_axis_turn_event,
    input  logic s_axis_turn_keeps,
    input  logic s_axis_turn_tvalid,
    output logic s_axis_turn_tready,

    // The oldest trailer's event, or that it has none
    input  event_mark_t s_axis_mark_tdata,
    input  logic        s_axis_mark_tvalid,
    output logic        s_axis_mark_tready,

    input  logic [DataW-1:0] s_axis_payload_tdata,
    input  logic [KeepW-1:0] s_axis_payload_tkeep,
    input  logic             s_axis_payload_tlast,
    input  logic             s_axis_payload_tuser,
    input  logic             s_axis_payload_tvalid,
    output logic             s_axis_payload_tready,

    output logic [DataW-1:0] m_axis_payload_tdata,
    output logic [KeepW-1:0] m_axis_payload_tkeep,
    output logic             m_axis_payload_tlast,
    output logic             m_axis_payload_tuser,
    output logic             m_axis_payload_tvalid,
    input  logic             m_axis_payload_tready,

    output logic forgets_o  // pulse: a trailer, as its event has left or is lost
);

  localparam int unsigned EVENT_W = 512;
  localparam int unsigned BEATS = EVENT_W / DataW;
  localparam int unsigned BEAT_W = BEATS > 1 ? $clog2(BEATS) : 1;
  localparam int unsigned WORD = 96;  // where the trailer's time_flags are
  localparam int unsigned WORD_W = 32;

  logic [1:0] turn;  // of an event; or of a trailer that is kept
  logic turn_valid, turn_ready, in_beat, keeps, kept_ready, kept_valid;
  logic [BEATS-1:0][DataW-1:0] keep_data;
  logic [BEAT_W-1:0] out_beat_q;
  logic [EVENT_W-1:0] trailer, entry;
  logic out_beat, out_last, event_valid, event_ready, mark_valid, drops;
  event_mark_t mark;
  logic [$bits(event_mark_t)-1:0] mark_bits;

  axis_fifo #(
      .DataW(2),
      .Depth(Depth)
  ) u_turns (
      .clk,
      .rst,
      .s_axis_tdata ({s_axis_turn_event, s_axis_turn_keeps}),
      .s_axis_tvalid(s_axis_turn_tvalid),
      .s_axis_tready(s_axis_turn_tready),
      .m_axis_tdata (turn),
      .m_axis_tvalid(turn_valid),
      .m_axis_tready(turn_ready)
  );

  axis_fifo #(
      .DataW($bits(event_mark_t)),
      .Depth(Events)
  ) u_marks (
      .clk,
      .rst,
      .s_axis_tdata (s_axis_mark_tdata),
      .s_axis_tvalid(s_axis_mark_tvalid),
      .s_axis_tready(s_axis_mark_tready),
      .m_axis_tdata (mark_bits),
      .m_axis_tvalid(mark_valid),
      .m_axis_tready(forgets_o)
  );

  assign in_beat = s_axis_payload_tvalid && s_axis_payload_tready;
  assign keeps = in_beat && s_axis_payload_tlast && turn[0];

  if (BEATS > 1) begin : gen_kept
    logic [BEATS-1:0][DataW-1:0] kept_q;
    logic [BEAT_W-1:0] in_beat_q;

    always_comb begin
      keep_data = kept_q;
      keep_data[in_beat_q] = s_axis_payload_tdata;
    end

    always_ff @(posedge clk) begin
      if (in_beat) begin
        kept_q <= keep_data;
        in_beat_q <= s_axis_payload_tlast || !turn[0] ? '0 : in_beat_q + 1'b1;
      end
      if (rst) in_beat_q <= '0;
    end
  end else begin : gen_whole
    assign keep_data = s_axis_payload_tdata;
  end

  axis_fifo #(
      .DataW(EVENT_W),
      .Depth(Events)
  ) u_trailers (
      .clk,
      .rst,
      .s_axis_tdata (keep_data),
      .s_axis_tvalid(keeps),
      .s_axis_tready(kept_ready),
      .m_axis_tdata (trailer),
      .m_axis_tvalid(kept_valid),
      .m_axis_tready(forgets_o)
  );

  assign mark = mark_bits;
  assign drops = mark_valid && mark.lost;
  assign event_valid = mark_valid && !mark.lost;
  assign out_beat = event_valid && event_ready;
  assign forgets_o = (out_beat && out_last) || drops;
  assign out_last = out_beat_q == BEAT_W'(BEATS - 1);

  always_comb begin
    entry = trailer;
    entry[WORD+:WORD_W] = {24'd0, mark.status, 3'd0, mark.phase};
  end

  always_ff @(posedge clk) begin
    if (out_beat) out_beat_q <= out_last ? '0 : out_beat_q + 1'b1;
    if (rst) out_beat_q <= '0;
  end

  axis_select #(
      .DataW  (DataW),
      .Sources(2)
  ) u_select (
      .clk,
      .rst,
      .s_axis_sel_tdata (turn[1]),
      .s_axis_sel_tvalid(turn_valid),
      .s_axis_sel_tready(turn_ready),
      .s_axis_tdata     ({entry[32'(out_beat_q)*DataW+:DataW], s_axis_payload_tdata}),
      .s_axis_tkeep     ({KeepW'({64{1'b1}}), s_axis_payload_tkeep}),
      .s_axis_tlast     ({out_last, s_axis_payload_tlast}),
      .s_axis_tuser     ({1'b0, s_axis_payload_tuser}),
      .s_axis_tvalid    ({event_valid, s_axis_payload_tvalid}),
      .s_axis_tready    ({event_ready, s_axis_payload_tready}),
      .m_axis_tdata     (m_axis_payload_tdata),
      .m_axis_tkeep     (m_axis_payload_tkeep),
      .m_axis_tlast     (m_axis_payload_tlast),
      .m_axis_tuser     (m_axis_payload_tuser),
      .m_axis_tvalid    (m_axis_payload_tvalid),
      .m_axis_tready    (m_axis_payload_tready)
  );

`ifndef SYNTHESIS
  always @(posedge clk) begin
    assert (rst || !keeps || kept_ready) else $error("%m: no room for a trailer");
    assert (rst || !mark_valid || kept_valid) else $error("%m: an event without its trailer");
  end
`endif

endmodule
