// Follows every message to its end: counts frames as sent or failed, and says when nobody needs a frame's memory any more.
module frame_ledger
  import framelane_pkg::*;
  import tx_counters_pkg::*;
#(
    parameter int unsigned Depth = 64  // messages under way
) (
    input logic clk,
    input logic rst,

    // Descriptors, as they are handed out
    input  bd_t  s_axis_bd_tdata,
    input  logic s_axis_bd_tvalid,
    output logic s_axis_bd_tready,

    // Ends of frames: descriptors up to there, modulo 2^16
    input  logic [15:0] s_axis_over_tdata,
    input  logic        s_axis_over_tvalid,
    output logic        s_axis_over_tready,

    // Ends of messages, in the order of their descriptors
    input logic ended_i,  // pulse
    input logic failed_i, // with an error

    // Counters of destinations: frames sent, or failed
    output count_t m_axis_count_tdata,
    output logic   m_axis_count_tvalid,
    input  logic   m_axis_count_tready,

    output logic release_o,  // pulse, one for each frame in order: its memory is free
    output logic idle_o
);

  localparam int unsigned FRAMES = 32;  // that wait for their messages, or to be counted

  logic last, valid, failed_q, over_valid, count_ready, pending_q, pending_failed_q;
  logic [7:0] destination, pending_index_q;
  logic [15:0] ended_q, behind, over;
  logic counted_tvalid, counted_tready;
  count_t count, counted_tdata;

  axis_fifo #(
      .DataW(9),
      .Depth(Depth)
  ) u_messages (
      .clk,
      .rst,
      .s_axis_tdata ({s_axis_bd_tdata.last, s_axis_bd_tdata.destination_index}),
      .s_axis_tvalid(s_axis_bd_tvalid),
      .s_axis_tready(s_axis_bd_tready),
      .m_axis_tdata ({last, destination}),
      .m_axis_tvalid(valid),
      .m_axis_tready(ended_i)
  );

  axis_fifo #(
      .DataW(16),
      .Depth(FRAMES)
  ) u_over (
      .clk,
      .rst,
      .s_axis_tdata (s_axis_over_tdata),
      .s_axis_tvalid(s_axis_over_tvalid),
      .s_axis_tready(s_axis_over_tready),
      .m_axis_tdata (over),
      .m_axis_tvalid(over_valid),
      .m_axis_tready(release_o)
  );

  // Far fewer than 2^15 messages are under way: the difference tells before from after.
  assign behind = ended_q - over;
  assign release_o = over_valid && !behind[15];

  always_ff @(posedge clk) begin
    pending_q <= 1'b0;
    if (ended_i) begin
      ended_q <= ended_q + 1'b1;
      failed_q <= !last && (failed_q || failed_i);
      pending_q <= last;
      pending_index_q <= destination;
      pending_failed_q <= failed_q || failed_i;
    end
    if (rst) begin
      ended_q   <= '0;
      failed_q  <= 1'b0;
      pending_q <= 1'b0;
    end
  end

  assign count = '{
          amount: 64'd1,
          index: destination_counter(pending_index_q, pending_failed_q ? DESTINATION_FAILED : DESTINATION_SENT)
      };

  // A message's end cannot wait for the counters: frames do here.
  axis_fifo #(
      .DataW($bits(count_t)),
      .Depth(FRAMES)
  ) u_counts (
      .clk,
      .rst,
      .s_axis_tdata (count),
      .s_axis_tvalid(pending_q),
      .s_axis_tready(count_ready),
      .m_axis_tdata (counted_tdata),
      .m_axis_tvalid(counted_tvalid),
      .m_axis_tready(counted_tready)
  );

  axis_reg #(
      .DataW($bits(count_t))
  ) u_counted (
      .clk,
      .rst,
      .s_axis_tdata (counted_tdata),
      .s_axis_tvalid(counted_tvalid),
      .s_axis_tready(counted_tready),
      .m_axis_tdata (m_axis_count_tdata),
      .m_axis_tvalid(m_axis_count_tvalid),
      .m_axis_tready(m_axis_count_tready)
  );

  assign idle_o = !valid && !over_valid && !pending_q && !counted_tvalid && !m_axis_count_tvalid;

  logic unused;
  assign unused = ^{s_axis_bd_tdata, behind};

`ifndef SYNTHESIS
  always @(posedge clk) begin
    if (!rst) begin
      assert (!pending_q || count_ready)
      else $error("%m: a frame could not be counted");
      assert (!ended_i || valid)
      else $error("%m: the end of a message that never began");
    end
  end
`endif

endmodule
