// A read port of the memory in C++ (board.cpp). For simulation only.
module memory_read #(
    parameter int unsigned DataW = 512,
    parameter int unsigned Port = 0,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    // AXI4
    input  logic [     63:0] s_axi_araddr,
    input  logic [      7:0] s_axi_arlen,
    input  logic [      2:0] s_axi_arsize,
    input  logic [      1:0] s_axi_arburst,
    input  logic             s_axi_arvalid,
    output bit               s_axi_arready,
    output bit   [DataW-1:0] s_axi_rdata,
    output bit   [      1:0] s_axi_rresp,
    output bit               s_axi_rlast,
    output bit               s_axi_rvalid,
    input  logic             s_axi_rready
);

  import "DPI-C" function void board_read_port(
    input int port,
    input bit reset,
    input int lanes,
    input bit arvalid,
    input longint unsigned araddr,
    input byte unsigned arlen,
    input bit rready,
    inout bit arready,
    inout bit rvalid,
    inout bit rlast,
    inout bit [1:0] rresp,
    inout bit [DataW-1:0] rdata
  );

  // The C++ side sees and sets its own copies, so that all outputs change with the clock only.
  always_ff @(posedge clk) begin
    automatic bit next_arready = s_axi_arready;
    automatic bit next_rvalid = s_axi_rvalid;
    automatic bit next_rlast = s_axi_rlast;
    automatic bit [1:0] next_rresp = s_axi_rresp;
    automatic bit [DataW-1:0] next_rdata = s_axi_rdata;
    board_read_port(Port, rst, KeepW, s_axi_arvalid, s_axi_araddr, s_axi_arlen, s_axi_rready, next_arready,
                    next_rvalid, next_rlast, next_rresp, next_rdata);
    s_axi_arready <= next_arready;
    s_axi_rvalid <= next_rvalid;
    s_axi_rlast <= next_rlast;
    s_axi_rresp <= next_rresp;
    s_axi_rdata <= next_rdata;
  end

  always @(posedge clk) begin
    if (!rst && s_axi_arvalid) begin
      assert (s_axi_arburst == 2'b01 && s_axi_arsize == 3'($clog2(KeepW)))
      else $error("only INCR bursts of full beats are expected");
      assert (32'(s_axi_araddr[11:0]) + (32'(s_axi_arlen) + 1) * KeepW <= 4096)
      else $error("a burst from %h crosses 4 KiB", s_axi_araddr);
    end
  end

endmodule
