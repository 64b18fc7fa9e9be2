// A write port of the memory in C++ (board.cpp). For simulation only.
module memory_write #(
    parameter int unsigned DataW = 512,
    parameter int unsigned Port = 0,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    // AXI4
    input  logic [     63:0] s_axi_awaddr,
    input  logic [      7:0] s_axi_awlen,
    input  logic [      2:0] s_axi_awsize,
    input  logic [      1:0] s_axi_awburst,
    input  logic             s_axi_awvalid,
    output bit               s_axi_awready,
    input  logic [DataW-1:0] s_axi_wdata,
    input  logic [KeepW-1:0] s_axi_wstrb,
    input  logic             s_axi_wlast,
    input  logic             s_axi_wvalid,
    output bit               s_axi_wready,
    output bit   [      1:0] s_axi_bresp,
    output bit               s_axi_bvalid,
    input  logic             s_axi_bready
);

  import "DPI-C" function void board_write_port(
    input int port,
    input bit reset,
    input int lanes,
    input bit awvalid,
    input longint unsigned awaddr,
    input byte unsigned awlen,
    input bit wvalid,
    input bit [DataW-1:0] wdata,
    input bit [KeepW-1:0] wstrb,
    input bit wlast,
    input bit bready,
    inout bit awready,
    inout bit wready,
    inout bit bvalid,
    inout bit [1:0] bresp
  );

  // As in memory_read
  always_ff @(posedge clk) begin
    automatic bit next_awready = s_axi_awready;
    automatic bit next_wready = s_axi_wready;
    automatic bit next_bvalid = s_axi_bvalid;
    automatic bit [1:0] next_bresp = s_axi_bresp;
    board_write_port(Port, rst, KeepW, s_axi_awvalid, s_axi_awaddr, s_axi_awlen, s_axi_wvalid, s_axi_wdata,
                     s_axi_wstrb, s_axi_wlast, s_axi_bready, next_awready, next_wready, next_bvalid, next_bresp);
    s_axi_awready <= next_awready;
    s_axi_wready <= next_wready;
    s_axi_bvalid <= next_bvalid;
    s_axi_bresp <= next_bresp;
  end

  always @(posedge clk) begin
    if (!rst && s_axi_awvalid) begin
      assert (s_axi_awburst == 2'b01 && s_axi_awsize == 3'($clog2(KeepW)))
      else $error("only INCR bursts of full beats are expected");
      assert (32'(s_axi_awaddr[11:0]) + (32'(s_axi_awlen) + 1) * KeepW <= 4096)
      else $error("a burst from %h crosses 4 KiB", s_axi_awaddr);
    end
  end

endmodule
