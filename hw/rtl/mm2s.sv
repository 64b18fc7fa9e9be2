// Reads memory into a stream: each command (address, length) becomes AXI4 bursts and then one packet of `length` bytes.
// Addresses are multiples of the bus width, lengths are at least 1. Bursts of the next commands are issued while the data of
// the first still come. Not yet: any alignment; a read error is counted, its data passed on.
module mm2s
  import framelane_pkg::read_t;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned AddrW = 64,
    parameter int unsigned IdW   = 1,
    parameter int unsigned Depth = 4,   // commands under way

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input  read_t s_axis_cmd_tdata,
    input  logic  s_axis_cmd_tvalid,
    output logic  s_axis_cmd_tready,

    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready,

    // AXI4 read master, one ID: data return in order
    output logic [  IdW-1:0] m_axi_arid,
    output logic [AddrW-1:0] m_axi_araddr,
    output logic [      7:0] m_axi_arlen,
    output logic [      2:0] m_axi_arsize,
    output logic [      1:0] m_axi_arburst,
    output logic [      3:0] m_axi_arcache,
    output logic [      2:0] m_axi_arprot,
    output logic             m_axi_arvalid,
    input  logic             m_axi_arready,
    input  logic [  IdW-1:0] m_axi_rid,
    input  logic [DataW-1:0] m_axi_rdata,
    input  logic [      1:0] m_axi_rresp,
    input  logic             m_axi_rlast,
    input  logic             m_axi_rvalid,
    output logic             m_axi_rready,

    output logic [31:0] read_errors_o  // beats with a response other than OKAY, since reset
);

  localparam int unsigned LANES_W = $clog2(KeepW);
  localparam int unsigned PAGE_W = 12 - LANES_W;  // index of a beat in 4 KiB, which no burst may cross
  localparam int unsigned MAX_W = PAGE_W < 8 ? PAGE_W : 8;  // log2 of the longest burst
  localparam int unsigned BEATS_W = 33 - LANES_W;

  if (DataW < 64 || DataW > 1024 || (DataW & (DataW - 1)) != 0) begin : gen_check
    $error("%m: DataW = %0d must be a power of two, 64 to 1024", DataW);
  end

  // Address side: cuts a command at every multiple of the longest burst, which is also a cut at every 4 KiB.
  logic [AddrW-1:0] address_q;
  logic [BEATS_W-1:0] left_q;  // beats of the command not yet asked for
  logic [MAX_W:0] room, burst;
  logic busy_q, push, length_ready;

  assign room = (MAX_W + 1)'(1 << MAX_W) - (MAX_W + 1)'(address_q[LANES_W+:MAX_W]);
  assign burst = left_q < BEATS_W'(room) ? left_q[MAX_W:0] : room;
  assign s_axis_cmd_tready = !busy_q && length_ready;
  assign push = s_axis_cmd_tvalid && s_axis_cmd_tready;

  assign m_axi_arid = '0;
  assign m_axi_araddr = address_q;
  assign m_axi_arlen = 8'(burst - 1'b1);
  assign m_axi_arsize = 3'(LANES_W);
  assign m_axi_arburst = 2'b01;  // INCR
  assign m_axi_arcache = 4'b0011;  // normal memory, not cacheable, bufferable
  assign m_axi_arprot = 3'b000;
  assign m_axi_arvalid = busy_q;

  always_ff @(posedge clk) begin
    if (push) begin
      address_q <= AddrW'(s_axis_cmd_tdata.address);
      left_q <= BEATS_W'((33'(s_axis_cmd_tdata.length) + 33'(KeepW - 1)) >> LANES_W);
      busy_q <= 1'b1;
    end else if (m_axi_arvalid && m_axi_arready) begin
      address_q <= address_q + (AddrW'(burst) << LANES_W);
      left_q <= left_q - BEATS_W'(burst);
      busy_q <= left_q != BEATS_W'(burst);
    end
    if (rst) busy_q <= 1'b0;
  end

  // Data side: counts the bytes of each command down to its last beat.
  logic [31:0] length, sent_q, rest;
  logic length_valid, last, ready, take;
  logic [KeepW-1:0] keep;

  axis_fifo #(
      .DataW(32),
      .Depth(Depth)
  ) u_lengths (
      .clk,
      .rst,
      .s_axis_tdata (s_axis_cmd_tdata.length),
      .s_axis_tvalid(push),
      .s_axis_tready(length_ready),
      .m_axis_tdata (length),
      .m_axis_tvalid(length_valid),
      .m_axis_tready(take && last)
  );

  assign rest = length - sent_q;
  assign last = rest <= 32'(KeepW);
  assign keep = last ? ~(~KeepW'(0) << rest[LANES_W:0]) : '1;
  assign m_axi_rready = ready && length_valid;
  assign take = m_axi_rvalid && m_axi_rready;

  axis_reg #(
      .DataW(DataW + KeepW + 1)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({last, keep, m_axi_rdata}),
      .s_axis_tvalid(m_axi_rvalid && length_valid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .m_axis_tvalid,
      .m_axis_tready
  );

  always_ff @(posedge clk) begin
    if (take) begin
      sent_q <= last ? '0 : sent_q + 32'(KeepW);
      if (m_axi_rresp != 2'b00) read_errors_o <= read_errors_o + 1;
    end
    if (rst) begin
      sent_q <= '0;
      read_errors_o <= '0;
    end
  end

  logic unused;
  assign unused = ^{m_axi_rid, m_axi_rlast};

endmodule
