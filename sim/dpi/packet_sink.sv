// Gives the packets that leave to C++ (board.cpp), whose clock runs here. For simulation only.
module packet_sink #(
    parameter int unsigned DataW  = 512,
    parameter bit          Cycles = 1'b1,  // 0: the clock runs elsewhere

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input  logic [DataW-1:0] s_axis_tdata,
    input  logic [KeepW-1:0] s_axis_tkeep,
    input  logic             s_axis_tlast,
    input  logic             s_axis_tvalid,
    output bit               s_axis_tready
);

  import "DPI-C" function void board_clock();
  import "DPI-C" function void board_beat(
    input int lanes,
    input bit [DataW-1:0] data,
    input bit [KeepW-1:0] keep,
    input bit last
  );
  import "DPI-C" function bit board_ready();

  always_ff @(posedge clk) begin
    if (Cycles) board_clock();
    if (s_axis_tvalid && s_axis_tready) board_beat(KeepW, s_axis_tdata, s_axis_tkeep, s_axis_tlast);
    s_axis_tready <= board_ready();
    if (rst) s_axis_tready <= 1'b0;
  end

endmodule
