// One stream of descriptors to several engines, each those of the QP that has its index; one of no engine's QP ends at engine 0, as outside of its
// ring. Each engine has its own queues, so that one that stands still for a while does not hold the others up; and its own count of descriptors at
// the ends of frames. A frame's memory is free when all engines have released it.
module pcie_route
  import framelane_pkg::*;
#(
    parameter int unsigned Engines = 2,
    parameter int unsigned Depth = 64  // descriptors that wait for each
) (
    input logic clk,
    input logic rst,

    // As bd_gen gives them
    input  bd_t         s_axis_bd_tdata,
    input  logic        s_axis_bd_tvalid,
    output logic        s_axis_bd_tready,
    input  trailer_t    s_axis_trailer_tdata,
    input  logic        s_axis_trailer_tvalid,
    output logic        s_axis_trailer_tready,
    input  logic [15:0] s_axis_over_tdata,
    input  logic        s_axis_over_tvalid,
    output logic        s_axis_over_tready,

    // To the engines
    output bd_t      [Engines-1:0]       m_axis_bd_tdata,
    output logic     [Engines-1:0]       m_axis_bd_tvalid,
    input  logic     [Engines-1:0]       m_axis_bd_tready,
    output trailer_t [Engines-1:0]       m_axis_trailer_tdata,
    output logic     [Engines-1:0]       m_axis_trailer_tvalid,
    input  logic     [Engines-1:0]       m_axis_trailer_tready,
    output logic     [Engines-1:0][15:0] m_axis_over_tdata,
    output logic     [Engines-1:0]       m_axis_over_tvalid,
    input  logic     [Engines-1:0]       m_axis_over_tready,

    input  logic [Engines-1:0] release_i,
    output logic               release_o,  // pulse, one for each frame in order
    output logic               idle_o
);

  if (Engines < 1 || Engines > 2) begin : gen_check
    $error("%m: Engines = %0d must be 1 or 2", Engines);
  end

  localparam int unsigned TRAILERS = 16;  // that wait for each engine
  localparam int unsigned OVERS = 4;
  localparam int unsigned RELEASES_W = 7;  // one engine is ahead of the other by what ledger and queues hold

  bd_t bd;
  logic known, engine, trailer_engine, trailer_waits, order_ready, trailer_known, over_ready, has_come;
  logic [15:0] routed_q, behind;
  logic [Engines-1:0] is_to, bd_readies, trailer_readies, over_readies, owed;

  assign known = 32'(s_axis_bd_tdata.qp) < Engines;
  assign engine = known && s_axis_bd_tdata.qp[0];

  always_comb begin
    bd = s_axis_bd_tdata;
    if (!known) bd.destination = '1;
    for (int unsigned e = 0; e < Engines; e++) is_to[e] = engine == 1'(e);
  end

  assign s_axis_bd_tready = (bd_readies & is_to) != '0 && order_ready;

  // Trailers come beside the descriptors that end frames, in their order.
  axis_fifo #(
      .DataW(1),
      .Depth(Depth)
  ) u_order (
      .clk,
      .rst,
      .s_axis_tdata (engine),
      .s_axis_tvalid(s_axis_bd_tvalid && s_axis_bd_tready && s_axis_bd_tdata.last),
      .s_axis_tready(order_ready),
      .m_axis_tdata (trailer_engine),
      .m_axis_tvalid(trailer_known),
      .m_axis_tready(s_axis_trailer_tvalid && s_axis_trailer_tready)
  );

  assign trailer_waits = s_axis_trailer_tvalid && trailer_known;
  assign s_axis_trailer_tready = trailer_known && trailer_readies[trailer_engine && Engines > 1];

  // The end of a frame counts when all of its descriptors have been routed. Each engine is told how many of them were its own.
  assign behind = routed_q - s_axis_over_tdata;
  assign has_come = s_axis_over_tvalid && !behind[15];
  assign over_ready = over_readies == '1;
  assign s_axis_over_tready = has_come && over_ready;

  always_ff @(posedge clk) begin
    if (s_axis_bd_tvalid && s_axis_bd_tready) routed_q <= routed_q + 1'b1;
    if (rst) routed_q <= '0;
  end

  for (genvar e = 0; e < Engines; e++) begin : gen_engine
    logic [15:0] count_q;
    logic [RELEASES_W-1:0] released_q;

    axis_fifo #(
        .DataW($bits(bd_t)),
        .Depth(Depth)
    ) u_bds (
        .clk,
        .rst,
        .s_axis_tdata (bd),
        .s_axis_tvalid(s_axis_bd_tvalid && order_ready && is_to[e]),
        .s_axis_tready(bd_readies[e]),
        .m_axis_tdata (m_axis_bd_tdata[e]),
        .m_axis_tvalid(m_axis_bd_tvalid[e]),
        .m_axis_tready(m_axis_bd_tready[e])
    );

    axis_fifo #(
        .DataW($bits(trailer_t)),
        .Depth(TRAILERS)
    ) u_trailers (
        .clk,
        .rst,
        .s_axis_tdata (s_axis_trailer_tdata),
        .s_axis_tvalid(trailer_waits && trailer_engine == 1'(e)),
        .s_axis_tready(trailer_readies[e]),
        .m_axis_tdata (m_axis_trailer_tdata[e]),
        .m_axis_tvalid(m_axis_trailer_tvalid[e]),
        .m_axis_tready(m_axis_trailer_tready[e])
    );

    axis_fifo #(
        .DataW(16),
        .Depth(OVERS)
    ) u_overs (
        .clk,
        .rst,
        .s_axis_tdata (count_q),
        .s_axis_tvalid(has_come && over_ready),
        .s_axis_tready(over_readies[e]),
        .m_axis_tdata (m_axis_over_tdata[e]),
        .m_axis_tvalid(m_axis_over_tvalid[e]),
        .m_axis_tready(m_axis_over_tready[e])
    );

    always_ff @(posedge clk) begin
      if (s_axis_bd_tvalid && s_axis_bd_tready && is_to[e]) count_q <= count_q + 1'b1;
      released_q <= released_q + RELEASES_W'(release_i[e]) - RELEASES_W'(release_o);
      if (rst) begin
        count_q <= '0;
        released_q <= '0;
      end
    end

    assign owed[e] = released_q != '0;
  end

  assign release_o = owed == '1;
  assign idle_o = m_axis_bd_tvalid == '0 && m_axis_trailer_tvalid == '0 && m_axis_over_tvalid == '0 && owed == '0 &&
      !trailer_known && !s_axis_over_tvalid;

  logic unused;
  assign unused = ^behind;

endmodule
