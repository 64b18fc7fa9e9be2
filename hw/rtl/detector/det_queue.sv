// Between the line, which cannot wait, and the memory at the other end: heads, ends and pixels of packets wait here, each in order.
// Says beforehand whether there is room for one packet more, so that none is cut. Pixels leave two cycles after they came.
module det_queue
  import det_pkg::*;
#(
    parameter int unsigned DataW       = 512,
    parameter int unsigned PacketBytes = 8192,
    parameter int unsigned Depth       = 512,   // beats
    parameter int unsigned Heads       = 8,     // packets that wait

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    output logic room_o,  // for one packet and its head, beside what is on its way

    // From det_header
    input head_t             head_i,
    input logic              head_valid_i,   // pulse
    input logic  [DataW-1:0] s_axis_tdata,
    input logic  [KeepW-1:0] s_axis_tkeep,
    input logic              s_axis_tlast,
    input logic              s_axis_tuser,   // with tlast: the packet was not whole
    input logic              s_axis_tvalid,

    output head_t             m_axis_head_tdata,
    output logic              m_axis_head_tvalid,
    input  logic              m_axis_head_tready,
    output logic              m_axis_tail_tdata,    // the packet was not whole
    output logic              m_axis_tail_tvalid,
    input  logic              m_axis_tail_tready,
    output logic  [DataW-1:0] m_axis_pixel_tdata,
    output logic  [KeepW-1:0] m_axis_pixel_tkeep,
    output logic              m_axis_pixel_tlast,
    output logic              m_axis_pixel_tuser,   // with tlast: the packet was not whole
    output logic              m_axis_pixel_tvalid,
    input  logic              m_axis_pixel_tready
);

  localparam int unsigned BEATS = PacketBytes / KeepW;
  localparam int unsigned UNDER_WAY = 8;  // beats of the packet before that may still come
  localparam int unsigned LEVEL_W = $clog2(Depth + 1);

  if (Depth < BEATS + UNDER_WAY) begin : gen_check
    $error("%m: Depth = %0d has no room for a packet of %0d beats", Depth, BEATS);
  end

  logic [LEVEL_W-1:0] level_q;
  logic [$clog2(Heads+1)-1:0] heads_q;
  logic taken, head_ready, tail_ready, pixel_ready;

  assign taken = m_axis_pixel_tvalid && m_axis_pixel_tready;

  always_ff @(posedge clk) begin
    level_q <= level_q + LEVEL_W'(s_axis_tvalid) - LEVEL_W'(taken);
    heads_q <= heads_q + $bits(heads_q)'(head_valid_i) - $bits(heads_q)'(m_axis_head_tvalid && m_axis_head_tready);
    room_o  <= level_q <= LEVEL_W'(Depth - BEATS - UNDER_WAY) && heads_q < $bits(heads_q)'(Heads - 1);
    if (rst) begin
      level_q <= '0;
      heads_q <= '0;
      room_o  <= 1'b0;
    end
  end

  axis_fifo #(
      .DataW($bits(head_t)),
      .Depth(Heads)
  ) u_heads (
      .clk,
      .rst,
      .s_axis_tdata (head_i),
      .s_axis_tvalid(head_valid_i),
      .s_axis_tready(head_ready),
      .m_axis_tdata (m_axis_head_tdata),
      .m_axis_tvalid(m_axis_head_tvalid),
      .m_axis_tready(m_axis_head_tready)
  );

  axis_fifo #(
      .DataW(1),
      .Depth(Heads)
  ) u_tails (
      .clk,
      .rst,
      .s_axis_tdata (s_axis_tuser),
      .s_axis_tvalid(s_axis_tvalid && s_axis_tlast),
      .s_axis_tready(tail_ready),
      .m_axis_tdata (m_axis_tail_tdata),
      .m_axis_tvalid(m_axis_tail_tvalid),
      .m_axis_tready(m_axis_tail_tready)
  );

  axis_buffer #(
      .DataW(DataW + KeepW + 2),
      .Depth(Depth)
  ) u_pixels (
      .clk,
      .rst,
      .s_axis_tdata ({s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata}),
      .s_axis_tvalid,
      .s_axis_tready(pixel_ready),
      .m_axis_tdata ({m_axis_pixel_tuser, m_axis_pixel_tlast, m_axis_pixel_tkeep, m_axis_pixel_tdata}),
      .m_axis_tvalid(m_axis_pixel_tvalid),
      .m_axis_tready(m_axis_pixel_tready)
  );

`ifndef SYNTHESIS
  always @(posedge clk) begin
    assert (rst || ((head_ready || !head_valid_i) && (pixel_ready || !s_axis_tvalid) && (tail_ready || !s_axis_tvalid)))
    else $error("%m: something came for which there was no room");
  end
`endif

  logic unused;
  assign unused = ^{head_ready, tail_ready, pixel_ready};

endmodule
